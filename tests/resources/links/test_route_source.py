"""The source of routes for redirects."""

import subprocess
import sys
from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import AsyncConnection
from resources.links.env import KEYS, SHARED, Env

from waypost.database import Database
from waypost.redirect import NEVER, Route, new_route
from waypost.resources.links import routing
from waypost.resources.links.model import ROUTE_CHANNEL
from waypost.resources.links.routes.source import PostgresRouteSource, SqliteRouteSource
from waypost.resources.links.routing import LinkRouting


def new_route_source(db: Database) -> SqliteRouteSource | PostgresRouteSource:
    return SqliteRouteSource(db.path, SHARED, KEYS) if db.dialect == "sqlite" else PostgresRouteSource(db, SHARED, KEYS)


async def find_route(env: Env, slug: bytes) -> Route | None:
    routes = new_route_source(env.deps.db)
    try:
        return await routes.find(slug)
    finally:
        routes.close()


async def test_finds_a_route_by_slug(env: Env) -> None:
    link = await env.make(slug="Here", expires_at="2031-01-01T00:00:00.5Z")
    expiry = env.clock().replace(year=2031, hour=0, microsecond=500_000).timestamp()
    assert await find_route(env, b"Here") == new_route(SHARED.encode(), env.site.url(), UUID(link["id"]), expiry)
    assert await find_route(env, b"here") is None


@pytest.mark.parametrize("slug", [b"", b"\0", b"\xff\xfe", b"a" * 9000])
async def test_bytes_that_are_no_slug_have_no_route(env: Env, slug: bytes) -> None:
    assert await find_route(env, slug) is None


async def test_routes_follow_changes(env: Env) -> None:
    link = await env.make(slug="a")
    await env.changed(link, slug="b")
    assert await find_route(env, b"a") is None
    found = await find_route(env, b"b")
    assert found is not None
    assert found[2] == NEVER
    await env.changed(link, status="inactive")
    disabled = await find_route(env, b"b")
    assert disabled is not None
    assert disabled[2] < env.clock().timestamp(), "expired"
    await env.changed(link, status="active")
    assert await find_route(env, b"b") == found
    await env.delete(link)
    assert await find_route(env, b"b") is None


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_other_processes_read_changes(env: Env) -> None:
    await env.make(slug="before")
    routes = SqliteRouteSource(env.deps.db.path, SHARED, KEYS)
    link = await env.make(slug="a")
    await env.changed(link, slug="b")
    assert routes.read_changes() == ["a", "~a", "a", "b", "~b"]
    await env.delete(link)
    assert routes.read_changes() == ["b"]
    assert routes.read_changes() == []
    routes.close()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_other_machines_are_notified_of_changes(env: Env, database_url: str) -> None:
    async with await AsyncConnection.connect(database_url, autocommit=True) as listening:
        await listening.execute(f"LISTEN {ROUTE_CHANNEL}")
        link = await env.make(slug="a")
        await env.patch(link, {"slug": "not possible"})
        await env.changed(link, slug="b")
        await env.delete(link)
        heard = [note.payload async for note in listening.notifies(timeout=10, stop_after=6)]
    assert heard == ["a", "~a", "a", "b", "~b", "b"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_old_changes_are_deleted(db: Database, env: Env) -> None:
    routes = SqliteRouteSource(db.path, SHARED, KEYS)
    async with db.write() as tx:
        await env.deps.routes.changed(tx, ["old"])
        env.clock.at += timedelta(hours=1, seconds=1)
        await env.deps.routes.changed(tx, ["new"])
    assert routes.read_changes() == ["new"]
    routes.close()


LOADED = """
import sys
from pathlib import Path
import waypost.child, waypost.app, waypost.web_process, waypost.redirect_app
from waypost.resources.links.routes.source import SqliteRouteSource

def says(what):
    print(what, *(name for name in ("waypost.visitors", "waypost.redirect.routing.rules") if name in sys.modules))

source = SqliteRouteSource(Path(sys.argv[1]), "go.test", None)
for slug in (b"plain", b"fallback", b"country"):
    assert source.find_sync(slug)
    says(slug.decode())
"""


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_redirect_process_loads_nothing_of_visitors_before_the_first_rule(env: Env) -> None:
    """Country data is loaded later still, by the first visit: `test_loads_only_what_a_routing_needs`."""
    links = {slug: UUID((await env.make(slug=slug))["id"]) for slug in ("plain", "fallback", "country")}
    now, of = env.clock(), env.alice.account_id
    condition = {"type": "country", "operator": "in", "values": ["DE"]}
    rules = [{"name": "A", "conditions": [condition], "destination_url": "https://example.com/"}]
    async with env.deps.db.write() as tx:
        await routing.save(tx, LinkRouting(links["fallback"], of, now, now, fallback_url="https://example.com/"))
        await routing.save(tx, LinkRouting(links["country"], of, now, now, rules=rules))
    command = [sys.executable, "-P", "-c", LOADED, str(env.deps.db.path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "plain",
        "fallback",
        "country waypost.visitors waypost.redirect.routing.rules",
    ]
