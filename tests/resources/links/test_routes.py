"""What the redirect plane reads of links."""

from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import AsyncConnection
from resources.links.room import KEYS, SHARED, Room

from waypost.database import Database
from waypost.redirect import NEVER, Route, new_route
from waypost.resources.links import PostgresRoutes, SqliteRoutes, store
from waypost.resources.links.routes import CHANNEL


def routes_of(db: Database) -> SqliteRoutes | PostgresRoutes:
    return SqliteRoutes(db.path, SHARED, KEYS) if db.dialect == "sqlite" else PostgresRoutes(db, SHARED, KEYS)


async def look(room: Room, slug: bytes) -> Route | None:
    routes = routes_of(room.deps.db)
    try:
        return await routes.find(slug)
    finally:
        routes.close()


async def test_it_works(room: Room) -> None:
    link = await room.make(slug="Here", expires_at="2031-01-01T00:00:00.5Z")
    expiry = room.clock().replace(year=2031, hour=0, microsecond=500_000).timestamp()
    assert await look(room, b"Here") == new_route(SHARED.encode(), room.site.url(), UUID(link["id"]), expiry)
    assert await look(room, b"here") is None


@pytest.mark.parametrize("slug", [b"", b"\0", b"\xff\xfe", b"a" * 9000])
async def test_what_no_slug_can_be(room: Room, slug: bytes) -> None:
    assert await look(room, slug) is None


async def test_it_follows_changes(room: Room) -> None:
    link = await room.make(slug="a")
    await room.changed(link, slug="b")
    assert await look(room, b"a") is None
    found = await look(room, b"b")
    assert found is not None
    assert found[2] == NEVER
    await room.changed(link, status="inactive")
    assert await look(room, b"b") is None
    await room.changed(link, status="active")
    assert await look(room, b"b") == found
    await room.delete(link)
    assert await look(room, b"b") is None


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_changes_are_told_to_other_processes(room: Room) -> None:
    await room.make(slug="before")
    routes = SqliteRoutes(room.deps.db.path, SHARED, KEYS)
    link = await room.make(slug="a")
    await room.changed(link, slug="b")
    assert routes.news() == ["a", "a", "b"]
    await room.delete(link)
    assert routes.news() == ["b"]
    assert routes.news() == []
    routes.close()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_changes_are_told_to_other_machines(room: Room, database_url: str) -> None:
    async with await AsyncConnection.connect(database_url, autocommit=True) as listening:
        await listening.execute(f"LISTEN {CHANNEL}")
        link = await room.make(slug="a")
        await room.patch(link, {"slug": "not possible"})
        await room.changed(link, slug="b")
        await room.delete(link)
        heard = [note.payload async for note in listening.notifies(timeout=10, stop_after=4)]
    assert heard == ["a", "a", "b", "b"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_old_changes_are_forgotten(db: Database, room: Room) -> None:
    routes = SqliteRoutes(db.path, SHARED, KEYS)
    async with db.write() as tx:
        await store.announce(tx, ["old"], room.clock())
        await store.announce(tx, ["new"], room.clock() + timedelta(hours=1, seconds=1))
    assert routes.news() == ["new"]
    routes.close()
