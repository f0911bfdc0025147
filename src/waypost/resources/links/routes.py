"""Where the redirect plane learns a link's route: one row by slug, as cheaply as each database gives it.

On SQLite plain `sqlite3` in the caller's thread: it answers in microseconds, a hop to another thread costs more.
"""

import sqlite3
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import select

from waypost.database import Database
from waypost.kit.clock import microseconds
from waypost.resources.links.model import ALIVE, links

_FIND = "SELECT id, hostname, destination_url, expires_at, is_on FROM links WHERE slug = ? AND deleted_at IS NULL"


class RouteRow(NamedTuple):
    link_id: bytes
    hostname: str | None
    """None: the shared domain."""
    destination_url: str
    expires_at: int | None
    """Microseconds since 1970."""
    is_on: bool


class SqliteRoutes:
    """One connection, which only reads: to be used by one thread."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        self._connection.execute("PRAGMA busy_timeout = 100")  # it holds up the event loop: not long
        self._connection.execute("PRAGMA mmap_size = 1073741824")
        self._connection.execute("PRAGMA cache_size = -4000")

    def find(self, slug: str) -> RouteRow | None:
        row = self._connection.execute(_FIND, (slug,)).fetchone()
        return None if row is None else RouteRow(row[0], row[1], row[2], row[3], row[4] == 1)

    def newest_change(self) -> int:
        """Where a reader that has nothing cached yet begins."""
        return int(self._connection.execute("SELECT coalesce(max(id), 0) FROM route_changes").fetchone()[0])

    def changes_since(self, number: int) -> list[tuple[int, str]]:
        """(number, slug), oldest first. Rows live for an hour: who was away longer must forget all it knows."""
        found = self._connection.execute("SELECT id, slug FROM route_changes WHERE id > ? ORDER BY id", (number,))
        return found.fetchall()

    def close(self) -> None:
        self._connection.close()


class PostgresRoutes:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def find(self, slug: str) -> RouteRow | None:
        columns = (links.c.id, links.c.hostname, links.c.destination_url, links.c.expires_at, links.c.is_on)
        async with self._db.read() as tx:
            row = (await tx.execute(select(*columns).where(links.c.slug == slug, ALIVE))).one_or_none()
        if row is None:
            return None
        expires_at = None if row.expires_at is None else microseconds(row.expires_at)
        return RouteRow(row.id.bytes, row.hostname, row.destination_url, expires_at, row.is_on)
