"""Finds the route of a slug in the database, and follows changes of routes that other processes made.

On SQLite it is plain `sqlite3` in the caller's thread: a read takes microseconds, a switch of threads takes longer.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, select
from sqlalchemy.dialects import sqlite

from waypost.accounts import suspension
from waypost.database import Database, KeyRing
from waypost.kit.clock import from_microseconds, microseconds
from waypost.kit.errors import Unavailable
from waypost.kit.forward_query import from_text
from waypost.metrics import Gauge
from waypost.redirect import (
    DISABLED,
    NEVER,
    ClickLimit,
    MemoryTable,
    Route,
    RouteOptions,
    disabled_host,
    new_location,
    new_route,
)
from waypost.redirect.forwarding import Forwarding
from waypost.resources import domains, pixels
from waypost.resources.links import routing
from waypost.resources.links.aliases.source import PostgresAliasSource, SqliteAliasSource
from waypost.resources.links.model import NOT_DELETED, ROUTE_CHANNEL, links
from waypost.resources.pixels import PixelTags
from waypost.worker.loop import every

_WORKS = (links.c.is_enabled & ~suspension.is_suspended(links.c.account_id)).label("is_enabled")
_LINK = select(
    links.c.id, links.c.destination_url, links.c.expires_at, links.c.starts_at, _WORKS, links.c.click_limit
).select_from(links)
_HOSTED = domains.join_host(_LINK, links.c.domain_id, links.c.forward_query, links.c.forward_path)
_ROUTED = routing.join_routing(_HOSTED, links.c.id)
_FIND = pixels.join_pixels(_ROUTED, links.c.id).where(links.c.slug == bindparam("slug"), NOT_DELETED)
"""A row for each pixel of the link, in any order; one row for a link without pixels, which costs one more lookup."""

_FIND_ON_SQLITE = str(_FIND.compile(dialect=sqlite.dialect()))
_LINK_COLUMNS, _ROUTING_COLUMNS, _PIXEL_COLUMNS = slice(10), slice(10, 16), slice(16, None)


class ForwardDefaults(NamedTuple):
    """What links forward of the visitor's address that do not say it themselves."""

    query: str | None = None
    """As text of `kit.forward_query`."""
    has_path: bool = False


_NOTHING = ForwardDefaults()


class _FeedLag:
    """Since when changes of routes may be missing."""

    _complete_at = 0.0

    def gauges(self) -> Iterable[Gauge]:
        """Return no gauge before the first contact with the database."""
        help_ = "Time since this machine was last known to have received all changes of routes."
        lag = time.monotonic() - self._complete_at
        return [Gauge("waypost_change_feed_lag_seconds", help_, lag, is_maximum=True)] if self._complete_at else []

    def _mark_complete(self) -> None:
        self._complete_at = time.monotonic()


class SqliteRouteSource(_FeedLag):
    """A read-only connection for one thread."""

    def __init__(
        self, path: Path, shared_host: str, key_ring: KeyRing | None, defaults: ForwardDefaults = _NOTHING
    ) -> None:
        """`defaults`: of the shared domain."""
        self._shared = shared_host.encode(), defaults
        self._pixel_tags = PixelTags(key_ring)
        self._connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        self._connection.execute("PRAGMA busy_timeout = 100")  # milliseconds; waiting blocks the event loop
        self._connection.execute("PRAGMA mmap_size = 1073741824")
        self._connection.execute("PRAGMA cache_size = -4000")  # KiB
        self.aliases = SqliteAliasSource(self._connection)
        self._newest = self._connection.execute("SELECT coalesce(max(id), 0) FROM route_changes").fetchone()[0]

    def find_sync(self, slug: bytes) -> Route | None:
        try:
            rows = self._connection.execute(_FIND_ON_SQLITE, (slug.decode("utf-8", "replace"),)).fetchall()
        except sqlite3.Error as error:
            raise Unavailable from error
        if not rows:
            return None
        link_id, destination, expires_at, starts_at, *others = rows[0][_LINK_COLUMNS]
        times = (None if time is None else from_microseconds(time) for time in (expires_at, starts_at))
        pixel_rows = (row[_PIXEL_COLUMNS] for row in rows if row[-1] is not None)
        encrypted = [(position, UUID(bytes=id_), platform, value) for position, id_, platform, value in pixel_rows]
        link = (UUID(bytes=link_id), destination, *times, *others)
        return _route(link, rows[0][_ROUTING_COLUMNS], encrypted, self._shared, self._pixel_tags)

    async def find(self, slug: bytes) -> Route | None:
        return self.find_sync(slug)

    def read_changes(self) -> list[str]:
        """Return the slugs changed since the last call. Rows are kept for an hour; calls are a second apart."""
        try:
            query = "SELECT id, slug FROM route_changes WHERE id > ? ORDER BY id"
            rows = self._connection.execute(query, [self._newest]).fetchall()
        except sqlite3.Error as error:
            raise Unavailable from error
        if rows:
            self._newest = rows[-1][0]
        return [slug for _, slug in rows]

    async def follow(self, tables: Sequence[MemoryTable[Any]]) -> None:
        """Read the changes that are missing in this machine's feed because their process died."""

        async def poll() -> None:
            for slug in self.read_changes():
                _invalidate(tables, slug)
            self._mark_complete()

        await every(1, poll)

    def close(self) -> None:
        self._connection.close()


class PostgresRouteSource(_FeedLag):
    find_sync = None  # needs the network

    def __init__(
        self, db: Database, shared_host: str, key_ring: KeyRing | None, defaults: ForwardDefaults = _NOTHING
    ) -> None:
        """`defaults`: of the shared domain."""
        self._db = db
        self.aliases = PostgresAliasSource(db)
        self._shared = shared_host.encode(), defaults
        self._pixel_tags = PixelTags(key_ring)

    async def find(self, slug: bytes) -> Route | None:
        text = slug.decode("utf-8", "replace").replace("\0", "\ufffd")  # PostgreSQL allows no NUL
        async with self._db.read() as tx:
            rows = [tuple(row) for row in await tx.execute(_FIND, {"slug": text})]
        if not rows:
            return None
        encrypted = [row[_PIXEL_COLUMNS] for row in rows if row[-1] is not None]
        *of_routing, updated_at = rows[0][_ROUTING_COLUMNS]
        version = None if updated_at is None else microseconds(updated_at)
        return _route(rows[0][_LINK_COLUMNS], (*of_routing, version), encrypted, self._shared, self._pixel_tags)

    async def follow(self, tables: Sequence[MemoryTable[Any]]) -> None:
        """Read the changes of other machines, and those missing in this machine's feed because their process died."""
        from waypost.database.listen import follow_channel  # noqa: PLC0415  # loads psycopg (7 MB)

        def for_all(act: Callable[[MemoryTable[Any]], None]) -> None:
            for table in tables:
                act(table)

        def mark_complete() -> None:
            for_all(MemoryTable.mark_feed_complete)
            self._mark_complete()

        for_all(MemoryTable.mark_feed_lost)  # until the connection is established
        await follow_channel(
            self._db.url,
            ROUTE_CHANNEL,
            on_payload=partial(_invalidate, tables),
            on_complete=mark_complete,
            on_connected=lambda: for_all(MemoryTable.mark_feed_restored),
            on_lost=lambda: for_all(MemoryTable.mark_feed_lost),
        )

    def close(self) -> None:
        """The caller closes the database."""


def open_route_source(
    db: Database, shared_host: str, key_ring: KeyRing | None, defaults: ForwardDefaults = _NOTHING
) -> SqliteRouteSource | PostgresRouteSource:
    if db.dialect == "sqlite":
        return SqliteRouteSource(db.path, shared_host, key_ring, defaults)
    return PostgresRouteSource(db, shared_host, key_ring, defaults)


def _invalidate(tables: Sequence[MemoryTable[Any]], change: str) -> None:
    for table in tables:
        table.invalidate(change.encode())


def _route(
    link: tuple[Any, ...],
    of_routing: tuple[Any, ...],
    encrypted: Sequence[tuple[Any, ...]],
    shared: tuple[bytes, ForwardDefaults],
    tags: PixelTags,
) -> Route:
    """`link` and `of_routing`: columns of the first row of `_FIND`; its last is in microseconds.

    `encrypted`: the columns of each pixel.
    """
    link_id, destination, expires_at, starts_at, is_enabled, click_limit, hostname, is_served, query, path = link
    *columns, version = of_routing
    shared_host, of_shared = shared
    host = shared_host if hostname is None else hostname.encode() if is_served else disabled_host(hostname.encode())
    expiry = DISABLED if not is_enabled else NEVER if expires_at is None else expires_at.timestamp()
    limit = ClickLimit(click_limit, version or 0) if click_limit else None
    if hostname is None:  # also of a link whose domain was deleted
        query, path = of_shared.query if query is None else query, of_shared.has_path if path is None else path
    forwarding = _forwarding(query, bool(path)) if query or path else None
    options = None
    if starts_at or limit or any(columns):
        options = _options(starts_at, limit, columns, forwarding)
    elif forwarding:
        options = RouteOptions(forwarding=forwarding) if encrypted else _only_forwarding(forwarding)
    if not encrypted:
        return new_route(host, destination, link_id, expiry, options=options)
    ordered = sorted(encrypted, key=lambda pixel: pixel[0])
    return new_route(host, destination, link_id, expiry, tags.decrypt(pixel[1:] for pixel in ordered), options)


@lru_cache
def _forwarding(query: str | None, has_path: bool) -> Forwarding | None:  # noqa: FBT001  # for the cache
    """Return an object that very many routes share."""
    value = from_text(query)
    names = ["*"] if value == "all" else value if isinstance(value, list) else []
    return Forwarding(tuple(name.encode() for name in names), has_path) if names or has_path else None


@lru_cache
def _only_forwarding(forwarding: Forwarding) -> RouteOptions:
    """Return an object that very many routes share."""
    return RouteOptions(forwarding=forwarding)


def _options(
    starts_at: datetime | None, limit: ClickLimit | None, columns: Sequence[Any], forwarding: Forwarding | None
) -> RouteOptions:
    rules, variants, fallback_url, password_version = routing.read_route_columns(columns)
    json_size = len(columns[0] or "") + len(columns[1] or "")
    routing_ = None
    if rules or variants:
        from waypost.redirect.routing.compiled import compile_routing  # noqa: PLC0415  # most have no such link

        routing_ = compile_routing(rules, variants)
    return RouteOptions(
        routing_,
        starts_at.timestamp() if starts_at else 0.0,
        new_location(fallback_url) if fallback_url else None,
        password_version,
        limit,
        forwarding,
        json_size=json_size,
    )
