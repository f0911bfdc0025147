"""Objects of an account besides links and clicks: members, tags, a domain, a pixel, a webhook, an audit log.

Every second link has the common tag, one in forty is disabled, one in forty has expired, one in ten has a click limit,
one in five uses the domain.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, insert, update

from bench.click_store import ClickStore, vacuum
from bench.servers import SECRET_KEY
from waypost.accounts import Person, create_key
from waypost.accounts.members import store as memberships
from waypost.accounts.model import ROLES
from waypost.accounts.people.store import add as add_person
from waypost.accounts.sessions import store as sessions
from waypost.audit import new_entry_id
from waypost.audit.model import audit_entries
from waypost.database import Database, bulk
from waypost.database.secrets import KeyRing
from waypost.kit.clock import microseconds, now
from waypost.kit.ids import new_id
from waypost.resources.domains.model import domains
from waypost.resources.links.model import link_tags, links
from waypost.resources.pixels.model import pixels
from waypost.resources.webhooks.model import webhook_deliveries, webhooks

HOSTNAME = "go.example.com"
TAG = "spring"
_TAGS = [f"campaign {number:02}" for number in range(40)]
_KEYS = KeyRing([SECRET_KEY])
_AT_ONCE = 10_000
MEMBERS = 500
_OWNERS = 12
_KEYS_OF_MEMBERS = 50


@dataclass(frozen=True)
class FullAccount:
    store: ClickStore
    domain: UUID
    pixel: UUID
    webhook: UUID
    cookies: Sequence[str]
    """Of sessions, each of another owner: requests are limited per person."""
    key: UUID
    """An API key that a member made."""
    rare_actor: UUID
    """A key with five entries in the audit log."""
    entries: int
    """Of the audit log."""


async def fill_account(store: ClickStore, deliveries: int, entries: int) -> FullAccount:
    db, account, at = Database(store.url), store.account, now()
    domain, pixel, webhook = new_id(), new_id(), new_id()
    dates = {"created_at": at, "updated_at": at}
    async with db.write() as tx:
        await tx.execute(insert(domains), _domain(domain, account, len(store.links) // 5) | dates)
        secret = _KEYS.encrypt(pixels.c.pixel_id, pixel, "1234567890")
        its_pixel = {"platform": "facebook", "name": "Spring", "pixel_id": secret, "access_token": None}
        await tx.execute(insert(pixels), {"id": pixel, "account_id": account, **its_pixel, **dates})
        secret = _KEYS.encrypt(webhooks.c.secret, webhook, "whsec_of-the-benchmark")
        its_webhook = {"url": "https://example.com/hook", "event_types": ["link.clicked"], "secret": secret}
        await tx.execute(insert(webhooks), {"id": webhook, "account_id": account, **its_webhook, **dates})
        (owner,) = await memberships.list_of_account(tx, account)
    cookies, key = await _write_members(db, account, owner.person, at)
    await _write_links(db, store, domain, at)
    for start in range(0, deliveries, _AT_ONCE):
        moments = [at - timedelta(seconds=deliveries - n) for n in range(start, min(start + _AT_ONCE, deliveries))]
        async with db.write() as tx:
            await tx.execute(insert(webhook_deliveries), [_delivery(webhook, store, moment) for moment in moments])
    rare_actor = await _write_audit_log(db, store, entries, at)
    await db.close()
    vacuum(store.url)
    return FullAccount(store, domain, pixel, webhook, cookies, key, rare_actor, entries)


async def _write_members(db: Database, account: UUID, owner: Person, at: datetime) -> tuple[list[str], UUID]:
    """Write members, each with a session, and keys that some of them made. Return cookies of owners, and a key."""
    people = [
        replace(owner, id=new_id(), email=f"member{number}@example.com", name=f"Member {number}")
        for number in range(MEMBERS)
    ]
    cookies = []
    async with db.write() as tx:
        for number, person in enumerate(people):
            role = "owner" if number < _OWNERS else ROLES[number % 3]
            await add_person(tx, person, None)
            await memberships.add(tx, account, person.id, role, at)
            made = sessions.create(tx, person.id, account_id=account, now=at, user_agent="bench", ip="192.0.2.1")
            cookies.append(f"waypost={await made}")
    keys = [
        await create_key(db, account_id=account, name=person.name, scopes=(), now=at, created_by=person.id)
        for person in people[:_KEYS_OF_MEMBERS]
    ]
    return cookies[:_OWNERS], keys[0][0].id


async def _write_links(db: Database, store: ClickStore, domain: UUID, at: datetime) -> None:
    written = update(links).where(links.c.id == bindparam("its"))
    names = ("tags", "is_enabled", "expires_at", "click_limit", "domain_id")
    values: dict[str, Any] = {name: bindparam(f"its_{name}") for name in names}
    for start in range(0, len(store.links), _AT_ONCE):
        some = list(enumerate(store.links[start : start + _AT_ONCE], start))
        tagged = [{"account_id": store.account, "link_id": id_, "tag": tag} for n, id_ in some for tag in _tags(n)]
        async with db.write() as tx:
            await tx.execute(written.values(values), [_link(number, id_, domain, at) for number, id_ in some])
            await tx.execute(insert(link_tags), tagged)


async def _write_audit_log(db: Database, store: ClickStore, entries: int, at: datetime) -> UUID:
    """Write entries of a year: of one person, and five of a key. Return the id of the key."""
    rare, step = new_id(), timedelta(days=365) / entries
    changes = json.dumps({"title": ["Spring sale", "Spring sale 2026"], "tags": [[], ["spring"]]})
    for start in range(0, entries, _AT_ONCE):
        rows = []
        for number in range(start, min(start + _AT_ONCE, entries)):
            moment, link = at - step * (entries - number), store.links[number % len(store.links)]
            is_rare = number % (entries // 5) == 7
            actor = ("key", rare.bytes, "CI") if is_rare else ("person", store.account.bytes, "anna@example.com")
            action = "link.deleted" if is_rare else "link.updated"
            identity = store.account.bytes, new_entry_id(moment).bytes, microseconds(moment)
            rows.append((*identity, *actor, "192.0.2.1", action, link.bytes, f"go.test/{number}", changes, None))
        async with db.write() as tx:
            await bulk.insert(tx, audit_entries, rows)
    return rare


def _link(number: int, id_: UUID, domain: UUID, at: datetime) -> dict[str, Any]:
    return {
        "its": id_,
        "its_tags": list(_tags(number)),
        "its_is_enabled": number % 40 != 1,
        "its_expires_at": at - timedelta(days=1) if number % 40 == 2 else None,
        "its_click_limit": 500 if number % 10 == 4 else None,
        "its_domain_id": domain if number % 5 == 3 else None,
    }


def _tags(number: int) -> Iterator[str]:
    yield _TAGS[number % len(_TAGS)]
    if number % 2:
        yield TAG


def _domain(id_: UUID, account: UUID, count: int) -> dict[str, Any]:
    nothing = dict.fromkeys(column.name for column in domains.c if column.nullable)
    return nothing | {
        "id": id_,
        "account_id": account,
        "hostname": HOSTNAME,
        "token": "benchmark",
        "status": "verified",
        "is_served": True,
        "failures": 0,
        "links_count": count,
        "tls_status": "none",
    }


def _delivery(webhook: UUID, store: ClickStore, at: datetime) -> dict[str, Any]:
    data = {"link_id": str(store.link), "country": "DE", "referrer": "https://www.example.com/some/page"}
    return {
        "id": new_id(),
        "account_id": store.account,
        "webhook_id": webhook,
        "event": "link.clicked",
        "body": json.dumps({"event": "link.clicked", "data": data}),
        "status": "delivered",
        "attempts": 1,
        "next_attempt_at": None,
        "leased_until": None,
        "response_status": 200,
        "error": None,
        "created_at": at,
    }
