"""Where the redirect plane learns a link's route: one row by slug, as cheaply as each database gives it.

On SQLite plain `sqlite3` in the caller's thread: it answers in microseconds, a hop to another thread costs more.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, select
from sqlalchemy.dialects import sqlite

from waypost.database import Database, KeyRing
from waypost.kit.clock import from_microseconds
from waypost.kit.errors import Unavailable
from waypost.redirect import NEVER, Route, new_route, unserved
from waypost.resources.domains import domains
from waypost.resources.links.model import ALIVE, links
from waypost.resources.pixels import Tags, link_pixels, pixels

CHANNEL = "waypost_routes"
"""Of PostgreSQL's notifications: each carries a slug, a `host_change` or a `pixel_change`. See `store.announce`."""

_FIND = (
    select(
        *(links.c.id, domains.c.hostname, domains.c.is_live, links.c.destination_url, links.c.expires_at),
        *(link_pixels.c.position, pixels.c.id, pixels.c.platform, pixels.c.pixel_id),
    )
    .select_from(links)
    .outerjoin(domains, domains.c.id == links.c.domain_id)
    .outerjoin(link_pixels, link_pixels.c.link_id == links.c.id)
    .outerjoin(pixels, pixels.c.id == link_pixels.c.pixel_id)
    .where(links.c.slug == bindparam("slug"), ALIVE, links.c.is_on)
)
"""A row for each pixel of the link, in any order; of a link without pixels one row, at the price of one look more."""

_FIND_ON_SQLITE = str(_FIND.compile(dialect=sqlite.dialect()))
_LINK, _PIXEL = slice(5), slice(5, None)


class SqliteRoutes:
    """One connection, which only reads: to be used by one thread."""

    def __init__(self, path: Path, shared_host: str, keys: KeyRing) -> None:
        self._shared_host = shared_host.encode()
        self._tags = Tags(keys)
        self._connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        self._connection.execute("PRAGMA busy_timeout = 100")  # milliseconds; waiting holds up the event loop
        self._connection.execute("PRAGMA mmap_size = 1073741824")
        self._connection.execute("PRAGMA cache_size = -4000")  # KiB
        self._newest = self._connection.execute("SELECT coalesce(max(id), 0) FROM route_changes").fetchone()[0]

    def find_now(self, slug: bytes) -> Route | None:
        try:
            rows = self._connection.execute(_FIND_ON_SQLITE, (slug.decode("utf-8", "replace"),)).fetchall()
        except sqlite3.Error as error:
            raise Unavailable from error
        if not rows:
            return None
        link_id, hostname, is_live, destination, expires_at = rows[0][_LINK]
        expiry = None if expires_at is None else from_microseconds(expires_at)
        found = (row[_PIXEL] for row in rows if row[-1] is not None)
        sealed = [(position, UUID(bytes=id_), platform, value) for position, id_, platform, value in found]
        link = (UUID(bytes=link_id), hostname, is_live, destination, expiry)
        return _route(link, sealed, self._shared_host, self._tags)

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

    def __init__(self, db: Database, shared_host: str, keys: KeyRing) -> None:
        self._db = db
        self._shared_host = shared_host.encode()
        self._tags = Tags(keys)

    async def find(self, slug: bytes) -> Route | None:
        wanted = slug.decode("utf-8", "replace").replace("\0", "\ufffd")  # PostgreSQL takes no NUL
        async with self._db.read() as tx:
            rows = [tuple(row) for row in await tx.execute(_FIND, {"slug": wanted})]
        if not rows:
            return None
        sealed = [row[_PIXEL] for row in rows if row[-1] is not None]
        return _route(rows[0][_LINK], sealed, self._shared_host, self._tags)

    def close(self) -> None:
        """The database is not ours to close."""


def _route(link: tuple[Any, ...], sealed: Sequence[tuple[Any, ...]], shared_host: bytes, tags: Tags) -> Route:
    """`link`: the first half of a row of `_FIND`; `sealed`: the second halves, of pixels that are there."""
    link_id, hostname, is_live, destination, expires_at = link
    host = shared_host if hostname is None else hostname.encode() if is_live else unserved(hostname.encode())
    expiry = NEVER if expires_at is None else expires_at.timestamp()
    if not sealed:
        return new_route(host, destination, link_id, expiry)
    in_order = sorted(sealed, key=lambda each: each[0])
    return new_route(host, destination, link_id, expiry, tags.opened(each[1:] for each in in_order))
