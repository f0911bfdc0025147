"""Deletion of an account keeps its slugs reserved and does not touch other accounts."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from browsing import Browser, WebApp, open_place
from claimed import claimed_row
from contexts import webhook_deps
from people import START
from resources.links.added import add_links
from sqlalchemy import Table, insert, select, text
from statements import noted

from waypost import accounts
from waypost.accounts import ProcessCaller
from waypost.accounts import store as account_store
from waypost.accounts.auth_deps import new_deps
from waypost.accounts.data import deletion as account_deletion
from waypost.accounts.keys.caller_cache import invalidating_callers
from waypost.accounts.members import service as members
from waypost.accounts.members import store as memberships
from waypost.accounts.model import past_emails as past_emails_table
from waypost.accounts.people import past_emails
from waypost.accounts.sessions import store as sessions
from waypost.accounts.sessions.store import Session
from waypost.audit import Actor
from waypost.composition import new_context
from waypost.database import Ciphertext, metadata
from waypost.kit.clock import EPOCH
from waypost.kit.errors import Forbidden, NotFound, Problems
from waypost.kit.ids import new_id
from waypost.packages import RESOURCES
from waypost.redirect import ChangeFeed
from waypost.resources.clicks.backends.clickhouse.client import ClickStoreUnavailable
from waypost.resources.clicks.backends.sql import SqlClickStore
from waypost.resources.domains import service as domain_service
from waypost.resources.domains.schemas import NewDomain
from waypost.resources.links import Link
from waypost.resources.links import account_data as link_data
from waypost.resources.links import store as link_store
from waypost.resources.pixels import service as pixel_service
from waypost.resources.pixels.schemas import NewPixel
from waypost.resources.webhooks import account_data as webhook_data
from waypost.resources.webhooks import service as webhook_service
from waypost.resources.webhooks.schemas import NewWebhook
from waypost.worker.jobs import Again, jobs

PASSWORD = "four plain words suffice"
TODAY = (START - EPOCH).days
LINK: dict[str, Any] = {"destination_url": "https://example.com/", "utm_params": {}}


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as place:
        yield place


def row(table: Table, **values: Any) -> dict[str, Any]:
    """With something in every column that must have it."""
    filled = {}
    for column in table.c:
        if (
            column.name in values
            or column.nullable
            or column.server_default is not None
            or column.autoincrement is True
        ):
            continue
        kind = type(column.type).__name__
        filled[column.name] = {
            "Id": new_id(),
            "Instant": START,
            "Json": [],
            "Encrypted": Ciphertext(b"x"),
            "Boolean": True,
            "Integer": 1,
            "BigInteger": 1,
            "SmallInteger": 1,
            "LargeBinary": b"x",
        }.get(kind, "x")
    return filled | values


async def filled(place: WebApp, account: UUID, name: str) -> None:
    """Five links, each clicked on three days by two visitors, and one of everything else."""
    tables = metadata.tables
    rows: list[tuple[str, dict[str, Any]]] = []
    domain, pixel, webhook = new_id(), new_id(), new_id()
    own = {"account_id": account}
    media = place.settings.data_dir / "media"
    media.mkdir(exist_ok=True)
    for number in range(5):
        (media / f"{name}{number}.png").write_bytes(b"x")
    rows += [
        ("domains", own | {"id": domain, "hostname": f"{name}.example", "status": "verified", "tls_status": "none"}),
        ("verified_names", {"hostname": f"{name}.example"}),
        *(("logos", own | {"owner_id": owner, "name": f"{owner}"}) for owner in (account, domain)),
        ("pixels", own | {"id": pixel, "platform": "facebook"}),
        ("webhooks", own | {"id": webhook}),
        *(("webhook_deliveries", own | {"webhook_id": webhook, "status": "delivered"}) for _ in range(5)),
    ]
    for number in range(5):
        link, slug = new_id(), f"{name}{number}"
        rows += [
            (
                "links",
                own
                | {
                    "id": link,
                    "slug": slug,
                    "domain_id": domain if number else None,
                    "og_image_file_name": f"{slug}.png",
                }
                | LINK,
            ),
            ("slugs", own | {"slug": slug, "link_id": link}),
            *([("link_images", {"name": f"{slug}.png"})] if place.db.dialect == "postgresql" else []),
            ("link_tags", own | {"tag": "t", "link_id": link}),
            *([("link_pixels", {"link_id": link, "position": 0, "pixel_id": pixel})] if number else []),
            ("link_clicks", {"link_id": link, "account_id": account, "clicks": 6}),
            ("qr_styles", {"link_id": link}),
            ("qr_scans", {"link_id": link, "scans": 1}),
        ]
        for day in range(TODAY - 2, TODAY + 1):
            for subject in (link, account) if number == 0 else (link,):
                rows += [
                    ("click_totals", {"day": day, "subject_id": subject, "quarter": -1}),
                    ("click_dimensions", {"day": day, "subject_id": subject, "dimension": 1, "value": "x"}),
                ]
                rows += [("visitor_days", {"day": day, "visitor_id": n, "subject_id": subject}) for n in (1, 2)]
            rows += [("clicks", own | {"link_id": link, "day": day, "visitor_id": n, "kind": "human"}) for n in (1, 2)]
    async with place.db.write() as tx:
        for table, values in rows:
            await tx.execute(insert(tables[table]), row(tables[table], **values))


async def counted(place: WebApp) -> dict[str, int]:
    async with place.db.read() as tx:
        return {
            name: len((await tx.execute(select(*table.primary_key.columns))).all())
            for name, table in metadata.tables.items()
        }


async def run_jobs(place: WebApp) -> list[str]:
    """The phases, as often as there was a job for each."""
    feed = ChangeFeed(place.settings.data_dir / "run" / "changes")
    delete = account_deletion.AccountDeletion(
        new_context(place.settings, place.db, feed.publish, place.clock), RESOURCES
    )
    done: list[str] = []
    async with place.db.write() as tx:
        rows = (await tx.execute(select(jobs).where(jobs.c.name == account_deletion.JOB.name))).all()
        await tx.execute(jobs.delete().where(jobs.c.name == account_deletion.JOB.name))
    for job in map(claimed_row, rows):
        again: Again | None = Again(place.clock(), payload=job.payload)
        while again:
            done.append(again.payload["phase"])
            again = await delete(replace(job, payload=again.payload))
    feed.close()
    return done


@pytest.mark.parametrize("longest", [30.0, -1.0], ids=["at once", "one step a job"])
async def test_deletes_all_rows_and_files_of_the_account_alone(
    place: WebApp, monkeypatch: pytest.MonkeyPatch, longest: float
) -> None:
    for module in (account_deletion, link_data, webhook_data):
        monkeypatch.setattr(module, "DELETED_AT_ONCE", 2)
    monkeypatch.setattr(account_deletion, "_TIME_LIMIT", longest)
    bob = await place.browser("bob@example.com")
    assert bob.account
    await filled(place, bob.account.id, "bob")
    before = await counted(place)
    ada = await place.browser("ada@example.com")
    assert ada.account
    await filled(place, ada.account.id, "ada")
    assert (await ada.post("/account/delete", {"name": ""})).status_code == 303
    done = await run_jobs(place)
    assert list(dict.fromkeys(done)) == ["links", "clicks", "rest"]
    assert len(done) == 3 or longest < 0
    after = await counted(place)
    ours = {name for name in before if name not in {"jobs", "route_changes", "sessions"}}
    changed = {name: after[name] - before[name] for name in ours if after[name] != before[name]}
    assert changed == {"slugs": 5, "past_emails": 1, "verified_names": 1}
    if place.db.dialect == "sqlite":
        names = {each.name for each in (place.settings.data_dir / "media").iterdir()}
        assert names == {f"bob{n}.png" for n in range(5)}
    assert [(await bob.get(f"/{slug}")).status_code for slug in ("ada0", "bob0")] == [404, 302]


async def test_an_owner_who_was_lowered_meanwhile_does_not_delete(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    bob = await place.member("bob@example.com", ada.account, "owner")
    assert bob.person

    session = await sessions.find(place.db, bob.client.cookies["waypost"], now=place.clock())
    async with place.db.write() as tx:
        await memberships.change_role(tx, ada.account.id, bob.person.id, "admin")
    deps: Any = new_deps(place.settings, place.db, place.clock)
    with pytest.raises(Forbidden):
        await account_deletion.start(deps, cast("Session", session))
    assert await accounts.get_account(place.db, "ada@example.com") == ada.account


async def test_notifies_the_other_owners(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    await place.member("bob@example.com", ada.account, "owner")
    await place.member("eve@example.com", ada.account, "admin")
    new = new_deps(place.settings, place.db, place.clock)
    await members.add(new, Actor.command(ada.account.id, "a test"), "zoe@example.com", "owner")  # in no other account
    await ada.post("/account/delete", {"name": ""})
    async with place.db.read() as tx:
        mails = (await tx.scalars(select(jobs.c.payload).where(jobs.c.name == "mail.send"))).all()
    assert sorted(mail["to"] for mail in mails if mail["subject"] == "An account was deleted") == [
        "bob@example.com",
        "zoe@example.com",
    ]


async def test_links_are_read_by_the_index_of_deleted_ones(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    added = [Link(new_id(), ada.account.id, START, START, slug=f"s{n}", destination_url="") for n in range(3)]
    async with place.db.write() as tx:
        await add_links(tx, added)
        await link_store.hide(tx, added, START)
        if place.db.dialect == "postgresql":  # it reads so few rows all
            await tx.execute(text("SET LOCAL enable_seqscan = off"))
        with noted() as statements:
            found = await link_data.find_ids_after(tx, ada.account.id, UUID(int=0), limit=2)
        prefix = "EXPLAIN QUERY PLAN " if place.db.dialect == "sqlite" else "EXPLAIN "
        [(statement, parameters)] = statements
        plan = str((await tx.exec_driver_sql(prefix + statement, parameters)).all())
        after = await link_data.find_ids_after(tx, ada.account.id, found[-1], limit=2)
    assert [*found, *after] == [link.id for link in added]
    assert "ix_links_deleted" in plan, plan


async def test_repeated_jobs_have_no_effect(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    await ada.post("/account/delete", {"name": ""})
    await run_jobs(place)
    async with place.db.write() as tx:
        for phase in account_deletion._PHASES:
            values = {
                "name": account_deletion.JOB.name,
                "payload": {"phase": phase},
                "account_id": ada.account.id,
                "attempts": 0,
            }
            await tx.execute(insert(jobs), row(jobs, **values))
    assert sorted(set(await run_jobs(place))) == ["clicks", "links", "rest"]


async def test_concurrent_writes_to_a_closed_account_fail(place: WebApp) -> None:
    """It would stay for ever: what is removed is what is there at the end."""
    ada = await place.browser("ada@example.com")
    assert ada.account
    assert ada.person
    feed = ChangeFeed(place.settings.data_dir / "run" / "changes")
    context = new_context(place.settings, place.db, feed.publish, place.clock)
    caller, its, person = ProcessCaller(ada.account, "ada"), ada.account.id, ada.person
    link = Link(new_id(), its, START, START, slug="late", destination_url="https://example.com/")
    pixel = NewPixel(platform="facebook", name="Late", pixel_id="1")
    webhook = NewWebhook(url="https://1.1.1.1/", event_types=["link.created"])

    async def add_link() -> None:
        async with place.db.write() as tx:
            await add_links(tx, [link])

    async def begin() -> None:
        async with place.db.write() as tx:
            await sessions.create(tx, person.id, user_agent="", ip="", now=START)

    async def make_key() -> None:
        await accounts.create_key(place.db, account_id=its, name="k", scopes=(), now=START)

    attempts: list[Callable[[], Awaitable[Any]]] = [
        add_link,
        begin,
        make_key,
        lambda: domain_service.create(context, caller, NewDomain(hostname="late.example"), Problems()),
        lambda: pixel_service.create(context, caller, pixel, Problems()),
        lambda: webhook_service.create(webhook_deps(context), caller, webhook, Problems()),
    ]
    await ada.post("/account/delete", {"name": ""})
    before = await counted(place)
    for attempt in attempts:
        with pytest.raises(NotFound):
            await attempt()
    assert await counted(place) == before
    feed.close()


async def test_keys_and_sessions_of_a_closed_account_are_refused(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    key, text = await accounts.create_key(place.db, account_id=ada.account.id, name="k", scopes=(), now=START)
    bearer = {"Authorization": f"Bearer {text}"}
    assert (await ada.get("/api/v1/me", headers=bearer)).status_code == 200
    with invalidating_callers(place.db):
        async with place.db.write() as tx:
            await account_store.change(tx, key.account_id, START, deleted_at=START)
    assert (await ada.get("/api/v1/me", headers=bearer)).status_code == 401
    assert (await ada.get("/links")).headers["location"] == "/account/accounts"
    assert "not a member of any account" in (await ada.get("/account/accounts")).text


async def test_an_email_has_one_trial(place: WebApp) -> None:
    async def sign_up(email: str) -> tuple[Browser, str]:
        browser = await place.browser()
        fields = {"name": "Ada", "email": email, "password": PASSWORD}
        assert (await browser.post("/signup", fields)).status_code == 303
        plan = (await accounts.get_account(place.db, email)).plan
        assert plan.trial_ends_at
        return browser, str(plan.trial_ends_at - START)

    async def leave(browser: Browser) -> None:
        assert "gets no new trial" in (await browser.get("/account/delete")).text
        assert (await browser.post("/account/delete", {"current_password": PASSWORD})).status_code == 303

    ada, full_trial = await sign_up("ada@example.com")
    place.clock.move(timedelta(days=2))
    await leave(ada)
    ada, again = await sign_up("ada@example.com")
    assert full_trial == again == "14 days, 0:00:00"
    await ada.post("/account/email", {"email": "lovelace@example.com", "current_password": PASSWORD})
    place.clock.move(timedelta(days=20))
    for email in ("ada@example.com", "lovelace@example.com"):
        if email == "lovelace@example.com":
            await leave(ada)
        late, again = await sign_up(email)
        assert again == full_trial
        assert "Your trial ended on" in (await late.get("/plan")).text
    assert (await sign_up("bob@example.com"))[1] == "36 days, 0:00:00"
    place.clock.move(past_emails.RETENTION + timedelta(seconds=1))
    await leave((await sign_up("carol@example.com"))[0])
    async with place.db.read() as tx:
        assert len((await tx.execute(select(past_emails_table))).all()) == 1  # past emails are deleted after a year


async def test_continues_after_an_outage_of_clickhouse(place: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes: the job does not use up its attempts."""
    ada = await place.browser("ada@example.com")
    assert ada.account
    assert (await ada.post("/account/delete", {"name": ""})).status_code == 303
    delete, outages = SqlClickStore.delete_account_data, ["refused"] * 20

    async def failing(*arguments: Any, **options: Any) -> Any:
        if outages:
            raise ClickStoreUnavailable("127.0.0.1:8123", outages.pop())
        async for _ in delete(*arguments, **options):
            yield

    monkeypatch.setattr(SqlClickStore, "delete_account_data", failing)
    assert await run_jobs(place) == ["links", *["clicks"] * 21, "rest"]
