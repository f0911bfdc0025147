"""The domain a link is on: whose names it takes, where else it shows, how it is counted, and what a deletion leaves."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from contexts import new_context
from domains import count, domain, forget
from people import BASE_URL, new_key
from resources.domains.env import Env as DomainsEnv
from resources.domains.env import open_env
from resources.links.env import KEYS, SHARED, Env, faults
from resources.webhooks.env import URL
from sqlalchemy import func, insert, select, text, update
from statements import noted

from waypost.accounts import ProcessCaller, store
from waypost.database import Database
from waypost.kit.clock import now
from waypost.kit.ids import new_id
from waypost.redirect import ALL_NEAR
from waypost.resources.domains.model import domains
from waypost.resources.links import find_names, rules
from waypost.resources.links.domain_detach import JOB, detach_links
from waypost.resources.links.model import links
from waypost.resources.links.routes.changes import Routes
from waypost.resources.links.routes.source import open_route_source
from waypost.resources.qrcodes import service
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.image_urls import Urls
from waypost.resources.qrcodes.model import code_id
from waypost.resources.webhooks.model import webhook_deliveries, webhooks
from waypost.worker.jobs import jobs

NAME = "go.brand.test"
ROUTES = Routes(lambda _: None, now)
IDN = "xn--bcher-kva.test"
HERS = {"hostname": [rules.NO_SUCH_DOMAIN]}


@pytest.fixture
async def both(db: Database, tmp_path: Path) -> AsyncIterator[DomainsEnv]:
    async with open_env(db, tmp_path) as opened:
        yield opened


async def test_a_link_moves_between_domains(env: Env) -> None:
    """A domain that nothing is proven of will do; the name is read as browsers read it."""
    db, alice = env.deps.db, env.alice.account_id
    live, pending = await domain(db, alice, NAME), await domain(db, alice, IDN, is_served=False)
    link = await env.make(slug="a", hostname=NAME)
    assert (link["hostname"], link["short_url"]) == (NAME, f"{NAME}/a")
    assert (await env.find(link)).json()["data"] == link
    assert (await env.changed(link, title="Another"))["hostname"] == NAME
    for written, name in (
        ("Bücher.TEST", IDN),
        (f"{NAME.upper()}.", NAME),
        (None, SHARED),
        (f"{SHARED.upper()}.", SHARED),
    ):
        assert (await env.changed(link, hostname=written))["short_url"] == f"{name}/a"
        assert (await env.find(link)).json()["data"]["hostname"] == name
    fields = [("destination_url", env.site.url()), ("hostname", IDN.upper())]
    assert (await env.send_form("POST", "", fields)).json()["data"]["hostname"] == IDN
    sent = await env.send_form("PATCH", f"/{link['id']}", [("hostname", NAME)])
    assert (sent.status_code, sent.json()["data"]["hostname"]) == (200, NAME)
    assert (await count(db, live), await count(db, pending)) == (1, 1)


async def test_refuses_domains_of_other_accounts(env: Env) -> None:
    db = env.deps.db
    bobs = await domain(db, env.bob.account_id, NAME)
    link = await env.make(slug="a")
    for name in (NAME, "unknown.test", f"x.{NAME}", "", "*", "127.0.0.1", "a b", f"{SHARED}:81", "x" * 300):
        assert faults(await env.post({"slug": "b", "hostname": name})) == HERS
        assert faults(await env.patch(link, {"hostname": name, "title": 5})).keys() == {"hostname", "title"}
    assert (await env.find(link)).json()["data"] == link
    assert await count(db, bobs) == 0


async def test_filters_the_list_by_domain(env: Env) -> None:
    await domain(env.deps.db, env.alice.account_id, NAME)
    await domain(env.deps.db, env.bob.account_id, "bobs.test")
    there, here = await env.make(hostname=NAME), await env.make()
    await env.make(env.bob, hostname="bobs.test")
    for query, found in (
        (NAME.upper() + ".", [there]),
        (SHARED, [here]),
        ("bobs.test", []),
        ("x", []),
        ("", [here, there]),
    ):
        page = (await env.browse(f"?hostname={query}")).json()
        assert (page["data"], page["meta"]["total"]) == (found, len(found)), query


async def test_the_domain_appears_wherever_a_link_is_shown(env: Env) -> None:
    db = env.deps.db
    gone = await domain(db, env.alice.account_id, NAME)
    row = {"id": new_id(), "account_id": env.alice.account_id, "url": URL, "event_types": ["link.created"]}
    row |= {"created_at": env.clock(), "updated_at": env.clock()}
    async with db.write() as tx:
        await tx.execute(
            insert(webhooks).values(row | {"secret": KEYS.encrypt(webhooks.c.secret, row["id"], "whsec_x")})
        )
    link = await env.make(slug="a", hostname=NAME)
    id_ = UUID(link["id"])
    codes = Deps(**vars(new_context(db, env.clock)), urls=Urls(BASE_URL, [b"a key"]))
    async with db.read() as tx:
        alice = ProcessCaller(await store.find_account(tx, env.alice.account_id), "alice")
        assert json.loads((await tx.execute(select(webhook_deliveries.c.body))).scalar_one())["data"] == link
    for host in (NAME, SHARED):
        async with db.read() as tx:
            assert (await find_names(tx, env.alice.account_id, [id_], shared_domain=SHARED))[id_][0] == f"{host}/a"
        code, target = await service.get(codes, alice, id_), (await service.find_target(codes, code_id(id_)))[:2]
        assert target == (env.alice.account_id, code.target)
        assert (code.target.hostname or SHARED) == host
        assert (await env.browse()).json()["data"][0]["short_url"] == f"{host}/a"
        await forget(db, gone)  # the second time its row still says its domain


# ── loops ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_refuses_destinations_on_domains_of_the_service(env: Env) -> None:
    """R23. What a stranger merely claims is nobody's, else anybody could keep anybody from linking to it."""
    db = env.deps.db
    await domain(db, env.alice.account_id, "mine.test", is_served=False)
    await domain(db, env.bob.account_id, "bobs.test")
    await domain(db, env.bob.account_id, IDN)
    await domain(db, env.bob.account_id, "claimed.test", is_served=False)
    link = await env.make()
    loops = (
        "http://mine.test/a",
        "https://BOBS.test:443/",
        "http://bobs.test:80/x?y",
        "http://bücher.test/",
        f"http://{IDN}/",
    )
    for url in loops:
        assert faults(await env.post({"destination_url": url})) == {"destination_url": [rules.LOOP]}, url
        assert faults(await env.patch(link, {"destination_url": url})) == {"destination_url": [rules.LOOP]}, url
    for url in ("http://claimed.test/", "http://x.bobs.test/", "http://bobs.test:8443/"):
        assert faults(await env.post({"destination_url": url})) == {"destination_url": [rules.UNREACHABLE]}, url


# ── counting ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_counts_the_links_of_each_domain(env: Env) -> None:
    db = env.deps.db
    one, two = [await domain(db, env.alice.account_id, name) for name in ("one.test", "two.test")]

    async def counts() -> tuple[int | None, int | None]:
        return await count(db, one), await count(db, two)

    link = await env.make(slug="a", hostname="one.test")
    assert faults(await env.post({"slug": "a", "hostname": "one.test"})) == {"slug": [rules.SLUG_USED]}
    other = await env.make(slug="b")
    assert faults(await env.patch(other, {"slug": "a", "hostname": "one.test"})) == {"slug": [rules.SLUG_USED]}
    assert await counts() == (1, 0)
    await env.changed(link, hostname="two.test", slug="c")
    await env.changed(link, hostname="two.test", status="inactive")
    assert await counts() == (0, 1)
    await env.changed(other, hostname="two.test")
    await env.changed(link, hostname=None)
    assert await counts() == (0, 1)
    await env.delete(other)
    assert await counts() == (0, 0)


async def test_counts_concurrent_moves_without_deadlock(env: Env) -> None:
    """Links swap domains and slugs while others are made on both: each statement's locks come in one order."""
    db = env.deps.db
    hosts = ["one.test", "two.test"]
    ids = [await domain(db, env.alice.account_id, name) for name in hosts]
    made = [await env.make(slug=f"s{n}", hostname=hosts[n % 2]) for n in range(4)]
    keys = [await new_key(db, env.alice.account_id) for _ in range(4)]
    for turn in range(4):
        moves = [
            env.patch(link, {"hostname": hosts[(turn + n + 1) % 2], "slug": f"s{(n + turn) % 5}"}, keys[n])
            for n, link in enumerate(made)
        ]
        creates = [
            env.post({"slug": f"s{turn}", "hostname": host}, key) for host, key in zip(hosts, keys, strict=False)
        ]
        answers = await asyncio.gather(*moves, *creates)
        assert {answer.status_code for answer in answers} <= {200, 201, 422}, [a.text for a in answers]
    async with db.read() as tx:
        on = select(func.count()).where(links.c.deleted_at.is_(None))
        found = [(await tx.execute(on.where(links.c.domain_id == id_))).scalar_one() for id_ in ids]
    assert [await count(db, id_) for id_ in ids] == found


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_takes_slug_and_domain_in_one_order(env: Env) -> None:
    """Else one would hold the domain and wait for the slug of another that waits for the domain."""
    db = env.deps.db
    id_ = await domain(db, env.alice.account_id, NAME)
    link = await env.make(slug="before")
    async with db.write() as tx:
        await tx.execute(update(domains).where(domains.c.id == id_).values(failures=1))
        change = asyncio.create_task(env.patch(link, {"slug": "a", "hostname": NAME}))
        await until_waiting(db, 1)
        create = asyncio.create_task(env.post({"slug": "a", "hostname": NAME}))
        await until_waiting(db, 2)
    answers = await asyncio.gather(change, create)
    assert [answer.status_code for answer in answers] == [200, 422], [a.text for a in answers]
    assert await count(db, id_) == 1


# ── a domain that is gone ───────────────────────────────────────────────────────────────────────────────────────────


async def test_links_of_a_deleted_domain_are_on_the_shared_one_at_once(both: DomainsEnv) -> None:
    env, db = both.links, both.deps.db
    brand = await both.make(NAME)
    await both.go_live(brand)
    made = [await env.make(slug=f"s{n}", hostname=NAME) for n in range(3)]
    assert (await both.find(brand)).json()["data"]["links_count"] == 3
    assert (await both.delete(brand)).status_code == 204
    link = (await env.find(made[0])).json()["data"]
    assert (link["hostname"], link["short_url"]) == (SHARED, f"{SHARED}/s0")
    assert (await env.browse(f"?hostname={SHARED}")).json()["meta"]["total"] == 3
    assert (await env.browse(f"?hostname={NAME}")).json()["meta"]["total"] == 0
    again = await both.make(NAME)  # an old link keeps its place, whether its row is written yet or not
    assert await find_route(db, b"s0") == SHARED.encode()
    assert (await env.browse(f"?hostname={NAME}")).json()["meta"]["total"] == 0
    await env.changed(made[0], hostname=NAME)
    await env.changed(made[1], title="Another")
    await env.delete(made[2])
    assert await count(db, UUID(again["id"])) == 1
    await free(db)
    assert await domains_of_links(db) == {UUID(again["id"]), None}
    assert (await env.find(made[0])).json()["data"]["hostname"] == NAME
    assert await count(db, UUID(again["id"])) == 1


async def test_detaches_links_in_batches(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waypost.resources.links.domain_detach._BATCH_SIZE", 2)
    db = env.deps.db
    gone, kept = await domain(db, env.alice.account_id, NAME), await domain(db, env.alice.account_id, "kept.test")
    for n in range(5):
        await env.make(slug=f"s{n}", hostname=NAME)
    await env.make(hostname="kept.test")
    await forget(db, gone)
    published: list[str] = []
    with noted() as statements:
        await detach_links(db, Routes(published.extend, now), job(gone))
    assert await domains_of_links(db) == {kept, None}
    assert published == [ALL_NEAR]
    batches = [statement for statement in statements if statement[0].startswith("UPDATE links")]
    assert len(batches) == 4
    async with db.write() as tx:
        if db.dialect == "postgresql":  # it reads so few rows all
            await tx.execute(text("SET LOCAL enable_seqscan = off"))
        prefix = "EXPLAIN QUERY PLAN " if db.dialect == "sqlite" else "EXPLAIN "
        plan = str((await tx.exec_driver_sql(prefix + batches[0][0], batches[0][1])).all())
    assert "ix_links_domain" in plan, plan


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_a_link_that_moves_during_the_detach_stays_there(env: Env) -> None:
    """PostgreSQL checks a row again after waiting for it, but does not repeat the subquery that found it."""
    db = env.deps.db
    gone, kept = await domain(db, env.alice.account_id, NAME), await domain(db, env.alice.account_id, "kept.test")
    await env.make(hostname=NAME)
    await forget(db, gone)
    async with db.write() as tx:
        await tx.execute(update(links).values(domain_id=kept))
        freeing = asyncio.create_task(detach_links(db, ROUTES, job(gone)))
        await until_waiting(db, 1)
    await freeing
    assert await domains_of_links(db) == {kept}


async def test_concurrent_create_and_domain_delete_leave_no_link_behind(both: DomainsEnv) -> None:
    env, db = both.links, both.deps.db
    other = await new_key(db, both.alice.account_id)
    for turn in range(4):
        brand = await both.make(NAME)
        link = await env.make(slug=f"old{turn}")
        answers = await asyncio.gather(
            env.post({"slug": f"a{turn}", "hostname": NAME}),
            env.post({"slug": f"b{turn}", "hostname": NAME}, other),
            both.delete(brand),
            env.patch(link, {"hostname": NAME}, other),
        )
        assert [a.status_code for a in answers if a.status_code not in {200, 201, 422}] == [204]
        assert all(faults(answer) == HERS for answer in answers if answer.status_code == 422)
        assert {each["hostname"] for each in (await env.browse()).json()["data"]} == {SHARED}
    await free(db)
    assert await domains_of_links(db) == {None}


async def test_refuses_a_domain_deleted_during_the_destination_check(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction decides, whatever the first check found."""
    link = await env.make(slug="a")
    gone = new_id()

    async def always(*_: object) -> UUID:
        return gone

    monkeypatch.setattr("waypost.resources.domains.find_id", always)
    assert faults(await env.post({"slug": "b", "hostname": NAME})) == HERS
    assert faults(await env.patch(link, {"slug": "b", "hostname": NAME})) == HERS
    assert (await env.make(slug="b"))["hostname"] == SHARED


def job(domain_id: UUID) -> Any:
    return type("Given", (), {"payload": {"domain_id": str(domain_id)}})()


async def free(db: Database) -> None:
    """What the worker does with the jobs that wait."""
    async with db.read() as tx:
        waiting = (await tx.execute(select(jobs.c.payload).where(jobs.c.name == JOB.name))).scalars().all()
    assert waiting
    for payload in waiting:
        await detach_links(db, ROUTES, job(payload["domain_id"]))


async def until_waiting(db: Database, number: int) -> None:
    """So many transactions stand still until another ends."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    async with asyncio.timeout(60):
        while True:
            async with db.read() as tx:
                if (await tx.execute(waiting)).scalar_one() >= number:
                    return
            await asyncio.sleep(0.01)


async def domains_of_links(db: Database) -> set[UUID | None]:
    async with db.read() as tx:
        return set((await tx.execute(select(links.c.domain_id).where(links.c.deleted_at.is_(None)))).scalars())


async def find_route(db: Database, slug: bytes) -> bytes | None:
    """The host that redirects serve it on."""
    routes = open_route_source(db, SHARED, KEYS)
    try:
        route = await routes.find(slug)
    finally:
        routes.close()
    return route[0] if route else None
