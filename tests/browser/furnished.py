"""A service with people in it: Ada has a lot, Eve has nothing yet, and nobody knows whether Bob's address is his."""

import random
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from contexts import webhook_deps
from resources.clicks.visited import fill, new_link, some_clicks
from resources.links.added import add_links
from sqlalchemy import insert, update

from browser.hostile import TEXTS
from waypost import accounts
from waypost.accounts import Account, Caller, ProcessCaller
from waypost.accounts import model as tables
from waypost.accounts.members import invitation_store
from waypost.accounts.members import store as memberships
from waypost.accounts.people import tokens
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sign_in.passkeys import passkeys
from waypost.audit import Actor
from waypost.composition import new_context
from waypost.database import Database
from waypost.kit.clock import now
from waypost.kit.errors import Problems
from waypost.kit.ids import new_id
from waypost.kit.pagination import PageRequest
from waypost.redirect import ChangeFeed
from waypost.resources import webhooks
from waypost.resources.domains import service as domain_service
from waypost.resources.domains.model import domains
from waypost.resources.domains.schemas import NewDomain
from waypost.resources.imports import store as import_store
from waypost.resources.imports.model import Import
from waypost.resources.imports.states import State
from waypost.resources.links import Link
from waypost.resources.links.tags import store as tag_store
from waypost.resources.links.tags.model import TAG_COLORS
from waypost.resources.pixels import service as pixel_service
from waypost.resources.pixels.events import model
from waypost.resources.pixels.schemas import NewPixel
from waypost.resources.shares import service as share_service
from waypost.resources.shares.deps import Deps as ShareDeps
from waypost.resources.shares.schemas import NewShare
from waypost.resources.utm_templates import service as utm_template_service
from waypost.resources.utm_templates.schemas import NewUtmTemplate
from waypost.resources.webhooks import service as webhook_service
from waypost.resources.webhooks.model import webhook_deliveries
from waypost.resources.webhooks.schemas import NewWebhook
from waypost.secret_key import with_secret_key
from waypost.settings import Settings

PASSWORD = "four plain words suffice"
LONG = "a-rather-long-slug-that-somebody-chose-for-a-campaign-of-theirs"
HOSTS = {
    "go.brand.example.com": {"status": "verified", "is_served": True, "tls_status": "active", "links_count": 1234},
    "links.a-shop-with-quite-a-long-name.example.co.uk": {
        "status": "failed",
        "failures": 2,
        "error": "No record was found that verifies links.a-shop-with-quite-a-long-name.example.co.uk. CNAME: it points"
        " to other.example.net, not to localhost. Let the CNAME record lead to localhost, or set a TXT record.",
    },
    "bücher.example.com": {},
    "old.example.com": {
        "status": "verified",
        "is_served": True,
        "failures": 1,
        "error": "It could not be checked right now. The name servers did not answer in time.",
        "tls_status": "failed",
        "tls_error": "The certificate has expired.",
    },
    "new.example.org": {"status": "verifying"},
}
TITLES = (
    "Spring campaign",
    TEXTS["closes an attribute"],
    "Our annual report on everything that happened in the last twelve months, with figures and an outlook",
    TEXTS["is written from the right"],
    TEXTS["is long"],
    "Jobs",
)


@dataclass
class Person:
    account: Account
    cookie: str


@dataclass
class SeededService:
    ada: Person
    eve: Person
    bob: Person
    links: list[str]
    """Ids; the first one's link has clicks."""
    domains: list[str]
    pixels: list[str]
    webhook: str
    deliveries: list[str]
    imports: list[str]
    key: str
    passkey: str
    tokens: dict[str, str]
    """By purpose."""
    viewer: Person
    """A member of Ada's account."""
    member: str
    """Id of the same person."""
    invitation: str
    tags: list[str]
    """Ids; each color has one."""
    shares: list[str]
    """Ids; the first one has no password."""
    shared: str
    """Path of the first share."""
    utm_template: str


async def furnish(data: Path, base_url: str) -> SeededService:
    """`data`: the directory of a service whose database has the current schema."""
    settings = with_secret_key(Settings(base_url=base_url, data_dir=data, outbound_allow="127.0.0.0/8"))
    db = Database(f"sqlite:///{data}/waypost.db")
    context = new_context(settings, db, ChangeFeed(data / "run" / "changes").publish)
    ada, eve, bob = [await _person(db, name) for name in ("Ada Lovelace", "Eve", "Bob")]
    secret = await accounts.hash_password(PASSWORD)
    async with db.write() as tx:
        await tx.execute(update(tables.accounts).where(tables.accounts.c.id == bob.account.id).values(plan_type="none"))
        for person, values in ((bob, {"confirmed_at": None}), (ada, {"password_hash": secret})):
            await tx.execute(update(tables.people).where(tables.people.c.email == person.account.email).values(values))
    caller = ProcessCaller(ada.account, "ada")
    links = await _links(db, ada.account)
    pixel_ids = await _pixels(db, context, caller)
    webhook, deliveries = await _webhook(db, webhook_deps(context), caller)
    key, passkey, texts = await _ways_in(db, ada.account)
    seeded = SeededService(
        ada,
        eve,
        bob,
        [str(link.id) for link in links],
        await _domains(db, context, caller),
        pixel_ids,
        webhook,
        deliveries,
        await _imports(db, ada.account),
        key,
        passkey,
        texts,
        await _viewer(db, ada.account),
        str((await accounts.get_person(db, "vera@example.com")).id),
        await _invitation(db, ada.account, texts),
        await _tags(db, ada.account),
        *await _shares(context, caller, links[0]),
        await _utm_template(context, caller),
    )
    await db.close()
    return seeded


async def _person(db: Database, name: str) -> Person:
    email = f"{name.partition(' ')[0].lower()}@example.com"
    account = await accounts.create_account(db, email=email, name=name, plan="lifetime", now=now(), trial_days=14)
    person = await accounts.get_person(db, email)
    async with db.write() as tx:  # long enough ago that pages ask for the password once more
        cookie = await sessions.create(tx, person.id, user_agent="a test", ip="127.0.0.1", now=_ago(hours=1))
        await sessions.create(tx, person.id, user_agent="", ip="", now=_ago(hours=3))
    return Person(account, cookie)


async def _viewer(db: Database, account: Account) -> Person:
    own = await _person(db, "Vera")
    person = await accounts.get_person(db, own.account.email)
    async with db.write() as tx:
        await memberships.add(tx, account.id, person.id, "viewer", now())
        shown = update(sessions.sessions).where(sessions.sessions.c.person_id == person.id)
        await tx.execute(shown.values(account_id=account.id))
    return Person(account, own.cookie)


async def _invitation(db: Database, account: Account, tokens: dict[str, str]) -> str:
    tokens["invite/account"] = "a-token-that-nobody-guesses"
    person = await accounts.get_person(db, account.email)
    row = {"id": new_id(), "account_id": account.id, "email": None, "role": "editor", "created_by": person.id}
    row |= {"created_at": now(), "expires_at": now() + timedelta(days=7)}
    async with db.write() as tx:
        await invitation_store.add(tx, row, tokens["invite/account"])
    return str(row["id"])


async def _links(db: Database, account: Account) -> list[Link]:
    """As many as fill a page and more, of every kind."""
    made, chance = [], random.Random(1)
    words = ["newsletter", "social", "print", "a tag that is quite a bit longer than the others", TEXTS["script"]]
    for index in range(32):
        at = now() - timedelta(minutes=7 * index + 2)
        link = new_link(account.id, title=TITLES[index % len(TITLES)], created_at=at, updated_at=at)
        slug = LONG if index == 1 else f"spring-{index}"
        tags = [f"tag {each}" for each in range(50)] if index == 2 else words[: index % 6]
        utm = {"utm_source": "newsletter"} if index % 2 else {}
        ends = {3: at + timedelta(days=3), 4: at}.get(index)
        url = f"https://www.example.com/products/{LONG * (1 + index % 3)}?utm_source=newsletter"
        fields = {"slug": slug, "tags": tags, "utm_params": utm, "expires_at": ends, "is_enabled": index != 5}
        if index % 4 == 1:
            fields |= {"note": "\n".join(TITLES), "external_id": f"{index}-{LONG * 3}"}
        made.append(replace(link, destination_url=url, **fields))
    async with db.write() as tx:
        for link in reversed(made):
            await add_links(tx, [link])
    days = [now() - timedelta(hours=chance.expovariate(1 / 100)) for _ in range(900)]
    clicks = [
        click for link in made[:12] for click in some_clicks(link, days[:: chance.choice([1, 5, 40])], chance, 300)
    ]
    clicks = [
        click._replace(
            country=chance.choice(["DE", "FR", "GB", "US", "JP", "BR", "IN", "CA", "SE", "PL", ""]),
            referrer=chance.choice(["", "https://a.example/", "https://news.example/a?b", TEXTS["script"]]),
            browser=chance.choice(["Chrome", "Firefox", "Safari"]),
        )
        for click in clicks
    ]
    await fill(db, clicks)
    return made


async def _domains(db: Database, deps: Any, caller: Caller) -> list[str]:
    made, at = [], now()
    for hostname, values in HOSTS.items():
        domain = await domain_service.create(deps, caller, NewDomain(hostname=hostname), Problems())
        made.append(str(domain.id))
        checked = {"last_checked_at": at} if values else {}
        if values.get("is_served"):
            checked |= {"verified_at": at, "unverified_since": None, "tls_expires_at": at + timedelta(days=60)}
        if values:
            async with db.write() as tx:
                await tx.execute(update(domains).where(domains.c.id == domain.id).values(values | checked))
    return made


async def _tags(db: Database, account: Account) -> list[str]:
    """Those of the links, in all colors."""
    async with db.write() as tx:
        found = (await tag_store.list_page(tx, account.id, "", PageRequest(1, 100))).items
        for number, tag in enumerate(found):
            await tag_store.save(tx, replace(tag, color=TAG_COLORS[number % len(TAG_COLORS)]))
    return [str(tag.id) for tag in found[: len(TAG_COLORS)]]


async def _shares(context: Any, caller: Caller, link: Link) -> tuple[list[str], str]:
    deps, ids = ShareDeps(**vars(context), embed_keys=[b"a key"]), []
    for fields in (
        {"name": "Spring campaign", "link_id": str(link.id), "embed_origins": ["https://www.example.com"]},
        {"name": TEXTS["is long"][:120], "password": "open sesame", "hide_below": 5, "filters": {"country": "DE"}},
    ):
        share = await share_service.create(deps, caller, NewShare(**fields), Problems())
        ids.append((str(share.id), str(deps.url(share)).removeprefix(context.base_url)))
    return [id_ for id_, _ in ids], ids[0][1]


async def _utm_template(context: Any, caller: Caller) -> str:
    params = {"utm_source": "newsletter", "utm_medium": TEXTS["is long"][:120]}
    new = NewUtmTemplate(name="Newsletter", utm_params=params)
    return str((await utm_template_service.create(context, caller, new, Problems())).id)


async def _pixels(db: Database, deps: Any, caller: Caller) -> list[str]:
    made, at = [], now()
    for platform, name, id_, token in (
        ("facebook", "Spring audience", "1234567890123456", "EAAB"),
        ("tiktok", TEXTS["is long"][:120], "C4ABCDEF", "token"),
        ("google_ads", "Search", "AW-123456789", None),
    ):
        new = NewPixel(platform=platform, name=name, pixel_id=id_, access_token=token)
        made.append((await pixel_service.create(deps, caller, new, Problems())).id)
    reason = "tiktok answered 401: Access token is incorrect or has been revoked."
    refused = model.EventResults(sent=3, rejected=20, dropped=1, sent_at=at, reason=reason, reason_at=at)
    async with db.write() as tx:
        await model.add_results(tx, made[0], model.EventResults(sent=12_345, sent_at=at))
        await model.add_results(tx, made[1], replace(refused, sent_at=at - timedelta(days=3)))
    return [str(each) for each in made]


async def _webhook(db: Database, deps: Any, caller: Caller) -> tuple[str, list[str]]:
    """With a delivery of each kind, newest first: taken, refused, waiting."""
    kinds = ["link.created", "link.clicked", "pixel.fired"]
    new = NewWebhook(url="https://127.0.0.1:9443/a/path/that/somebody/has/chosen?with=a&query=too", event_types=kinds)
    webhook, _ = await webhook_service.create(deps, caller, new, Problems())
    at, of = now(), webhook_deliveries.c
    for index in range(8):
        data = {"id": str(new_id()), "title": TEXTS["script"], "n": index}
        event = webhooks.WebhookEvent(
            kinds[index % 3], caller.account.id, new_id(), at - timedelta(minutes=7 * index), data
        )
        async with db.write() as tx:
            await webhooks.record_all(tx, [event], {caller.account.id: [webhook.id]})
    taken = {"status": "delivered", "attempts": 1, "response_status": 204, "next_attempt_at": None}
    answer = "answered 500: <html><body><h1>Internal Server Error</h1> Look into the log of the receiver.</body></html>"
    refused = {"status": "failed", "attempts": 5, "response_status": 500, "error": answer}
    later = {"status": "pending", "attempts": 2, "response_status": None, "error": "connection refused"}
    async with db.write() as tx:
        await tx.execute(update(webhook_deliveries).where(of.webhook_id == webhook.id).values(taken))
        ids = (await tx.execute(webhook_deliveries.select().order_by(of.id.desc()))).scalars().all()
        await tx.execute(update(webhook_deliveries).where(of.id == ids[1]).values(refused))
        waiting = later | {"next_attempt_at": at + timedelta(hours=3)}
        await tx.execute(update(webhook_deliveries).where(of.id == ids[2]).values(waiting))
    return str(webhook.id), [str(each) for each in ids[:3]]


async def _imports(db: Database, account: Account) -> list[str]:
    """One that is planned, with all that a plan shows, and one that has stopped."""
    hosts = dict.fromkeys((*HOSTS, "shop.example.com"), 1234)
    counts = {"found": 6_170, "created": 6_000, "updated": 9, "unchanged": 9, "refused": 2, "aliases": 3, "clicks": 4}
    refused = [[TEXTS["script"], "The destination URL is not on the public internet."], ["x" * 300, TEXTS["is long"]]]
    plan = {"hosts": hosts, "counts": counts, "refused": refused, "warnings": [[TEXTS["is long"], 12, "abc"]]}
    columns = [(number, TEXTS["is long"], [TEXTS["script"], "", "x" * 60]) for number in range(22)]
    readings = [("utf-8", "UTF-8", "Caf?"), ("cp1252", "Windows-1252", TEXTS["is long"])]
    fields = ["destination", "path", *[""] * 20]
    plan["table"] = {"columns": columns, "fields": fields, "codec": "cp1252", "note": "A guess", "readings": readings}
    options = {"url": None, "file": None, "domains": {}, "clicks": True, "timezone": None}
    actor, made = Actor.system(account.id).to_json(), []
    states: list[tuple[str, State, dict[str, Any]]] = [
        ("csv", "planned", {"plan": plan, "file_name": TEXTS["is long"]}),
        ("bitly", "stopped", {"message": TEXTS["script"]}),
    ]
    for source, state, values in states:
        import_ = Import(
            new_id(), account.id, source, options, now(), now(), actor, has_page=True, state=state, **values
        )
        async with db.write() as tx:
            await import_store.add(tx, import_)
        made.append(str(import_.id))
    return made


async def _ways_in(db: Database, account: Account) -> tuple[str, str, dict[str, str]]:
    """An API key, a passkey, and what links in mails carry."""
    at, passkey = now(), new_id()
    made: list[UUID] = []
    for name, scopes, ends in (("Shop", ["links:read"], None), (TEXTS["is long"], [], at + timedelta(days=30))):
        new = {"account_id": account.id, "name": name, "scopes": scopes, "now": at, "expires_at": ends}
        made.append((await accounts.create_key(db, **new))[0].id)
    person = await accounts.get_person(db, account.email)
    row = {"id": passkey, "person_id": person.id, "credential_id": b"1", "public_key": b"", "uses": 0}
    async with db.write() as tx:
        await tx.execute(insert(passkeys).values(row | {"name": "Ada's laptop", "created_at": _ago(days=1)}))
        texts = {"invite": await tokens.issue(tx, "invite", now=at, email="carol@example.com")}
        for name, purpose in (("enter", "sign_in"), ("confirm", "confirm"), ("reset", "reset")):
            texts[name] = await tokens.issue(tx, purpose, now=at, person_id=person.id, email=person.email)
    return str(made[0]), str(passkey), texts


def _ago(**length: int) -> datetime:
    return now() - timedelta(**length)
