"""What a suspended account's links, hosts, keys, webhooks and pixel events do, and that resuming restores them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from contexts import new_context
from domains import domain
from people import START, Person, new_person
from resources.links.added import add_links
from resources.pixels.events.sent import new_event, new_pixel
from resources.webhooks.scripted import queue_up, subscribe
from sqlalchemy import update

from waypost.accounts.model import accounts
from waypost.audit import Actor
from waypost.audit.store import AuditFilter, list_before
from waypost.context import Context
from waypost.database import Database
from waypost.kit.errors import Invalid, NotFound
from waypost.kit.ids import new_id
from waypost.redirect import ALL_ROUTES, ChangeFeed
from waypost.redirect_app import WebProcess
from waypost.resources.links import Link
from waypost.resources.links.model import links
from waypost.resources.links.routes import changes as route_changes
from waypost.resources.operator import suspension
from waypost.resources.operator.suspension import resume, suspend
from waypost.resources.pixels.events import queue as event_queue
from waypost.resources.webhooks import queue as delivery_queue
from waypost.resources.webhooks.delivery_limiter import DeliveryLimiter
from waypost.settings import Settings
from waypost.web_app import open_full_app

SHARED, CUSTOM = "go.test", "go.brand.test"
ROOT, OTHER = "https://brand.example/", "https://brand.example/other"
DESTINATION = "https://example.com/page"


@dataclass
class Node:
    """A machine of the service, with a client of its redirects and API."""

    web: WebProcess
    client: httpx.AsyncClient
    feed: ChangeFeed
    published: list[str]

    async def visit(self, path: str, host: str = SHARED) -> tuple[int, str | None]:
        answer = await self.client.get(path, headers={"Host": host})
        return answer.status_code, answer.headers.get("location")

    @property
    def deps(self) -> Context:
        def publish(changes: Any) -> None:
            self.published += changes
            self.feed.publish(changes)

        return new_context(self.web.db, publish=publish)


@contextlib.asynccontextmanager
async def open_node(database_url: str, directory: Path) -> AsyncIterator[Node]:
    settings = Settings(
        base_url="http://app.test",
        shared_domain=SHARED,
        data_dir=directory,
        database_url=database_url,
        secret_key="a key",
        contact_email="abuse@example.com",
    )
    async with open_full_app(settings) as web:
        transport = httpx.ASGITransport(web.app)
        with contextlib.closing(ChangeFeed(directory / "run" / "changes")) as feed:
            async with httpx.AsyncClient(transport=transport, base_url="http://app.test") as client:
                yield Node(web, client, feed, [])


@pytest.fixture
async def node(database_url: str, tmp_path: Path) -> AsyncIterator[Node]:
    async with open_node(database_url, tmp_path / "node") as opened:
        yield opened


async def add_link(db: Database, person: Person, slug: str, **fields: Any) -> UUID:
    """A link without a visit to its destination."""
    at = datetime.now(UTC)
    link = Link(new_id(), person.account_id, at, at, slug=slug, destination_url=DESTINATION, **fields)
    async with db.write() as tx:
        await add_links(tx, [link])
    return link.id


async def test_links_hosts_and_keys_stop_and_work_again(node: Node) -> None:
    db = node.web.db
    now = datetime.now(UTC)
    alice, bob = [await new_person(db, name, now=now) for name in ("alice", "bob")]
    brand = await domain(db, alice.account_id, CUSTOM, root_url=ROOT, not_found_url=OTHER)
    await add_link(db, alice, "own", hostname=CUSTOM, domain_id=brand)
    await add_link(db, alice, "shared")
    await add_link(db, bob, "bobs")
    made = await node.client.post(
        f"/api/v1/links/{await add_link(db, alice, 'aliased', hostname=CUSTOM, domain_id=brand)}/aliases",
        json={"hostname": CUSTOM, "path": "summer/sale"},
        headers=alice.headers,
    )
    assert made.status_code == 201, made.text
    document = {
        "apple_app_site_association": {"webcredentials": {"apps": ["ABCDE12345.com.example"]}},
        "assetlinks": None,
    }
    saved = await node.client.put(f"/api/v1/domains/{brand}/app-links", json=document, headers=alice.headers)
    assert saved.status_code == 200, saved.text

    async def seen() -> dict[str, Any]:
        paths = {"own": CUSTOM, "summer/sale": CUSTOM, "own+": CUSTOM, "": CUSTOM, "unknown": CUSTOM, "shared": SHARED}
        paths |= {".well-known/apple-app-site-association": CUSTOM, "shared+": SHARED, "bobs": SHARED}
        return {path: await node.visit(f"/{path}", host) for path, host in paths.items()}

    before = await seen()
    led = {"own": DESTINATION, "summer/sale": DESTINATION, "": ROOT, "unknown": OTHER, "shared": DESTINATION}
    redirected = {path: (302, url) for path, url in (led | {"bobs": DESTINATION}).items()}
    pages = "own+", "shared+", ".well-known/apple-app-site-association"
    assert before == redirected | dict.fromkeys(pages, (200, None))
    suspended = await suspend(node.deps, Actor.operator(alice.account_id), " Phishing. ")
    assert (suspended.suspended_reason, suspended.suspended_at is not None) == ("Phishing.", True)
    assert await seen() == dict.fromkeys(before, (404, None)) | {"bobs": (302, DESTINATION)}
    for method, path in (("GET", "/links"), ("POST", "/links"), ("GET", "/me"), ("DELETE", f"/links/{new_id()}")):
        answer = await node.client.request(method, f"/api/v1{path}", headers=alice.headers)
        assert answer.status_code == 403
        message = "This account is suspended: Phishing. Contact abuse@example.com."
        assert answer.json()["error"] == {"code": "forbidden", "message": message}
        assert "x-ratelimit-remaining" not in answer.headers
    assert (await node.client.get("/api/v1/links", headers=bob.headers)).status_code == 200
    assert (await node.client.get("/api/v1/links", headers={"Authorization": "Bearer wp_live_x"})).status_code == 401

    again = await suspend(node.deps, Actor.operator(alice.account_id), "Malware")
    assert (again.suspended_reason, again.suspended_at) == ("Malware", suspended.suspended_at)
    resumed = await resume(node.deps, Actor.operator(alice.account_id))
    assert (resumed.suspended_reason, resumed.suspended_at) == (None, None)
    assert await seen() == before
    assert (await node.client.get("/api/v1/links", headers=alice.headers)).status_code == 200


async def test_suspension_comes_before_the_plan(node: Node) -> None:
    """Paying would not help."""
    alice = await new_person(node.web.db, "alice", plan="none", now=datetime.now(UTC))
    assert (await node.client.get("/api/v1/links", headers=alice.headers)).status_code == 402
    await suspend(node.deps, Actor.operator(alice.account_id), "Phishing")
    assert (await node.client.get("/api/v1/links", headers=alice.headers)).status_code == 403


@pytest.mark.parametrize("reason", ["", " ", "x" * 501, "two\nlines", "a\x00b", "right\u202eleft"])
async def test_a_reason_is_one_line(node: Node, reason: str) -> None:
    alice = await new_person(node.web.db, "alice")
    with pytest.raises(Invalid) as error:
        await suspend(node.deps, Actor.operator(alice.account_id), reason)
    assert [*error.value.errors] == ["reason"]


async def test_only_accounts_that_exist_can_be_suspended(node: Node) -> None:
    alice = await new_person(node.web.db, "alice")
    async with node.web.db.write() as tx:
        await tx.execute(update(accounts).values(deleted_at=START))
    for account_id in (alice.account_id, new_id()):
        with pytest.raises(NotFound):
            await suspend(node.deps, Actor.operator(account_id), "Phishing")
        with pytest.raises(NotFound):
            await resume(node.deps, Actor.operator(account_id))


async def test_a_few_links_are_published_by_name_and_many_by_one_message(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = node.web.db
    alice, bob = await new_person(db, "alice"), await new_person(db, "bob")
    await domain(db, alice.account_id, CUSTOM)
    slugs = ["a", "b", "c"]
    for slug in slugs:
        await add_link(db, alice, slug)
    await add_link(db, bob, "bobs")
    assert [await node.visit(f"/{slug}") for slug in (*slugs, "bobs")] == [(302, DESTINATION)] * 4
    await suspend(node.deps, Actor.operator(alice.account_id), "Phishing")
    assert sorted({*node.published}) == [f"@{CUSTOM}", "a", "b", "c"]
    node.published.clear()
    monkeypatch.setattr(route_changes, "_MAX_CHANGES", 3)
    await resume(node.deps, Actor.operator(alice.account_id))
    assert {*node.published} == {ALL_ROUTES}
    assert [await node.visit(f"/{slug}") for slug in (*slugs, "bobs")] == [(302, DESTINATION)] * 4
    await suspend(node.deps, Actor.operator(alice.account_id), "Phishing")
    assert [await node.visit(f"/{slug}") for slug in (*slugs, "bobs")] == [(404, None)] * 3 + [(302, DESTINATION)]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize("limit", [2_000, 0])
async def test_other_nodes_follow(
    node: Node, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(route_changes, "_MAX_CHANGES", limit)
    alice = await new_person(node.web.db, "alice")
    await domain(node.web.db, alice.account_id, CUSTOM, root_url=ROOT)
    await add_link(node.web.db, alice, "own")
    async with open_node(database_url, tmp_path / "other") as other:

        async def until(expected: list[int]) -> None:
            async with asyncio.timeout(60):
                while [(await other.visit("/own"))[0], (await other.visit("/", CUSTOM))[0]] != expected:
                    await asyncio.sleep(0.01)

        await until([302, 302])
        await suspend(node.deps, Actor.operator(alice.account_id), "Phishing")
        await until([404, 404])
        await resume(node.deps, Actor.operator(alice.account_id))
        await until([302, 302])


async def test_a_slug_that_changes_meanwhile_is_published(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redirects may load it between the look-up of the slugs and the commit."""
    db = node.web.db
    alice = await new_person(db, "alice")
    await add_link(db, alice, "before")
    invalidate_again = suspension._invalidate_again

    async def change_first(context: Context, account_id: UUID) -> None:
        async with db.write() as tx:
            await tx.execute(update(links).values(slug="after"))
        await invalidate_again(context, account_id)

    monkeypatch.setattr(suspension, "_invalidate_again", change_first)
    await suspend(node.deps, Actor.operator(alice.account_id), "Phishing")
    assert node.published == ["before", "after"]


async def test_suspension_is_in_the_audit_log(node: Node) -> None:
    db = node.web.db
    alice = await new_person(db, "alice")
    operator, command = Actor.operator(alice.account_id), Actor.command(alice.account_id, "waypost account suspend")
    for actor, reason in ((operator, "Phishing"), (operator, "Phishing"), (command, "Malware")):
        await suspend(node.deps, actor, reason)
    for _ in range(2):
        await resume(node.deps, operator)
    async with db.read() as tx:
        entries, _ = await list_before(tx, alice.account_id, AuditFilter(), None, limit=9)
    found = [(each.actor.type, each.action, each.item.name, each.details) for each in entries]
    assert sorted(each for each in found if each[1] != "key.created") == [
        ("command", "account.suspended", "alice@example.com", {"reason": "Malware"}),
        ("operator", "account.resumed", "alice@example.com", {}),
        ("operator", "account.suspended", "alice@example.com", {"reason": "Phishing"}),
    ], "what changes nothing is not recorded"


async def test_webhooks_and_pixel_events_wait(db: Database) -> None:
    deps = new_context(db, lambda: START)
    alice, bob = await new_person(db, "alice"), await new_person(db, "bob")
    hooks = {who: await subscribe(db, f"{who.key_id}.example", account_id=who.account_id) for who in (alice, bob)}
    for hook in hooks.values():
        await queue_up(db, hook)
    pixels = {who: await new_pixel(db, "facebook", account_id=who.account_id) for who in (alice, bob)}
    for pixel in pixels.values():
        async with db.write() as tx:
            one = event_queue.PixelEvent(new_id(), pixel, "facebook", new_event())
            await event_queue.record_all(tx, [one], now=START)

    async def due() -> tuple[set[UUID], set[UUID]]:
        async with db.read() as tx:
            deliveries = await delivery_queue._find_due_deliveries(tx, START, 9)
            return (
                {each.receiver.webhook_id for each in deliveries},
                {row.pixel_id for row in await tx.execute(event_queue._WITHOUT_JOB)},
            )

    every = {hook.id for hook in hooks.values()}, {*pixels.values()}
    assert await due() == every
    await suspend(deps, Actor.operator(alice.account_id), "Phishing")
    assert await due() == ({hooks[bob].id}, {pixels[bob]})
    await suspend(deps, Actor.operator(bob.account_id), "Phishing")
    assert await due() == (set(), set())
    async with db.read() as tx:
        assert not await delivery_queue.is_due(tx, START, DeliveryLimiter())
        assert await delivery_queue.find_oldest_due(tx, START) is None, "nothing is overdue"
    for who in (alice, bob):
        await resume(deps, Actor.operator(who.account_id))
    assert await due() == every
