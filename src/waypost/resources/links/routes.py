"""Where the redirect plane learns a link's route: one row by slug, as cheaply as each database gives it.

On SQLite plain `sqlite3` in the caller's thread: it answers in microseconds, a hop to another thread costs more.
"""

import sqlite3
from datetime import datetime
from pathlib import Path
from uuid import UUID

from sqlalchemy import select

from waypost.database import Database
from waypost.kit.clock import from_microseconds
from waypost.kit.errors import Unavailable
from waypost.redirect import NEVER, Route, new_route
from waypost.resources.links.model import ALIVE, links

CHANNEL = "waypost_routes"
"""Of PostgreSQL's notifications; each carries a slug. See `store.announce`."""

_FIND = "SELECT id, hostname, destination_url, expires_at FROM links WHERE slug = ? AND deleted_at IS NULL AND is_on"


class SqliteRoutes:
    """One connection, which only reads: to be used by one thread."""

    def __init__(self, path: Path, shared_host: str) -> None:
        self._shared_host = shared_host.encode()
        self._connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        self._connection.execute("PRAGMA busy_timeout = 100")  # milliseconds; waiting holds up the event loop
        self._connection.execute("PRAGMA mmap_size = 1073741824")
        self._connection.execute("PRAGMA cache_size = -4000")  # KiB
        self._newest = self._connection.execute("SELECT coalesce(max(id), 0) FROM route_changes").fetchone()[0]

    def find_now(self, slug: bytes) -> Route | None:
        try:
            row = self._connection.execute(_FIND, (slug.decode("utf-8", "replace"),)).fetchone()
        except sqlite3.Error as error:
            raise Unavailable from error
        if row is None:
            return None
        link_id, hostname, destination, expires_at = row
        expiry = None if expires_at is None else from_microseconds(expires_at)
        return _route(UUID(bytes=link_id), hostname, destination, expiry, self._shared_host)

    async def find(self, slug: bytes) -> Route | None:
        return self.find_now(slug)

    def news(self) -> list[str]:
        """Slugs changed since the last call. Rows live for an hour, calls are a second apart."""
        try:
            found = self._connection.execute(
                "SELECT id, slug FROM route_changes WHERE id > ? ORDER BY id", [self._newest]
            )
            rows = found.fetchall()
        except sqlite3.Error as error:
            raise Unavailable from error
        if rows:
            self._newest = rows[-1][0]
        return [slug for _, slug in rows]

    def close(self) -> None:
        self._connection.close()


class PostgresRoutes:
    find_now = None  # across a network

    def __init__(self, db: Database, shared_host: str) -> None:
        self._db = db
        self._shared_host = shared_host.encode()

    async def find(self, slug: bytes) -> Route | None:
        wanted = slug.decode("utf-8", "replace").replace("\0", "\ufffd")  # PostgreSQL takes no NUL
        columns = (links.c.id, links.c.hostname, links.c.destination_url, links.c.expires_at)
        async with self._db.read() as tx:
            found = await tx.execute(select(*columns).where(links.c.slug == wanted, ALIVE, links.c.is_on))
            row = found.one_or_none()
        return None if row is None else _route(*row, self._shared_host)

    def close(self) -> None:
        """The database is not ours to close."""


def _route(
    link_id: UUID, hostname: str | None, destination: str, expires_at: datetime | None, shared_host: bytes
) -> Route:
    host = shared_host if hostname is None else hostname.encode()
    expiry = NEVER if expires_at is None else expires_at.timestamp()
    return new_route(host, destination, link_id, expiry)
