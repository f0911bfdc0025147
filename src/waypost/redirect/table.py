"""Routes in memory: bounded, never older than their source, and flat in cost from a thousand to a million links.

Each of 256 shards is a pair of dictionaries, young and old. Routes are read into the young one; when it is full it
becomes the old one and the previous old one is dropped; a hit in the old one moves the route back. That keeps what is
in use like an LRU does, but a hit writes nothing, and no step ever frees or rehashes more than a few thousand entries:
one large dictionary would stop the process for tens of milliseconds when it grows.

A pixel or a custom domain may be on very many links. Their change is one number: routes that depend on such a thing are
kept apart, each with the number of changes seen when it was read, and are compared with it at every hit. So a change
costs the same however many routes are in memory, and routes that depend on nothing pay nothing for it.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol
from uuid import UUID

from waypost.kit.errors import Unavailable
from waypost.redirect.feed import ChangeFeed
from waypost.redirect.route import HOST, HOSTNAME, MISSING, PIXELS, SLUG, UNSERVED, Route

_OF_HOST, _OF_PIXEL = b"@", b"*"
"""What a message begins with that is no slug."""

_SHARDS = 256
_MISSING_FOR = 10.0  # seconds; also dropped at once when the slug is created
_MISSING_AT_MOST = 20_000
_SOURCE_REST = 1.0  # seconds a source that failed is left alone while there is a route in memory to serve
_UNTRUSTED = -1  # no position of a feed
_CHANGED_AT_MOST = 20_000  # hosts and pixels whose last change is remembered


def host_change(hostname: str) -> str:
    """Published in a slug's place: every route on this host may have changed, and the host's own."""
    return f"{_OF_HOST.decode()}{hostname}"


def pixel_change(pixel_id: UUID) -> str:
    """Published in a slug's place: every route with this pixel may have changed."""
    return f"{_OF_PIXEL.decode()}{pixel_id.hex}"


_Dependent = tuple[Route, int]
"""A route on a custom domain or with pixels, and how many changes of such had been seen when it was read."""


class Source(Protocol):
    """Where routes come from, by slug, or those of hosts, by host."""

    @property
    def find_now(self) -> Callable[[bytes], Route | None] | None:
        """The same as `find` where it takes microseconds: an embedded database. Raises Unavailable."""

    async def find(self, slug: bytes) -> Route | None:
        """None: it leads nowhere. Raises Unavailable."""


class RouteTable:
    """The routes of links, by their slugs."""

    keys = SLUG

    def __init__(self, source: Source, feed: ChangeFeed, *, capacity: int, shared_host: bytes) -> None:
        """`capacity`: routes in memory, at most. `shared_host`: routes on it do not depend on their host."""
        self._source = source
        self._feed = feed
        self._head = feed.head
        self._position = self._seen = feed.head[0]
        self._half_shard = max(1, capacity // _SHARDS // 2)
        self._young: list[dict[bytes, Route]] = [{} for _ in range(_SHARDS)]
        self._old: list[dict[bytes, Route]] = [{} for _ in range(_SHARDS)]
        self._young_dependent: list[dict[bytes, _Dependent]] = [{} for _ in range(_SHARDS)]
        self._old_dependent: list[dict[bytes, _Dependent]] = [{} for _ in range(_SHARDS)]
        self._shared_host = shared_host
        self._changes = 0
        self._changed: dict[bytes, int] = {}
        self._all_changed = 0
        self._missing: dict[bytes, float] = {}
        self._loading: dict[bytes, asyncio.Task[Route]] = {}
        self._is_trusted = True
        self._source_failed_at = float("-inf")

    def __len__(self) -> int:
        independent = sum(map(len, self._young)) + sum(map(len, self._old))
        return independent + sum(map(len, self._young_dependent)) + sum(map(len, self._old_dependent))

    def find(self, slug: bytes) -> Route | None:
        """The route, MISSING, or None: only `load` can tell. The hot path: it neither waits nor raises."""
        if self._head[0] != self._seen:
            self._catch_up()
            if not self._is_trusted:
                return None
        shard = hash(slug) & 255
        return self._young[shard].get(slug) or self._find_dependent(shard, slug)

    async def load(self, slug: bytes) -> Route:
        """The route or MISSING, from the source if need be. Raises Unavailable when neither it nor memory can tell."""
        route = self.find(slug)
        if route is not None:
            return route
        kept = self._peek(slug)
        if kept and time.monotonic() - self._source_failed_at < _SOURCE_REST:
            return kept
        try:
            return await self._load_once(slug)
        except Unavailable:
            self._source_failed_at = time.monotonic()
            if kept:  # R20: without the database, links in memory keep redirecting
                return kept
            raise

    def drop(self, told: bytes) -> None:
        """Forgets a slug, or all that a `host_change` or `pixel_change` affects. A read in progress is not kept."""
        if told.startswith((_OF_HOST, _OF_PIXEL)):
            self._note_change(told[1:])
        else:
            self._forget(told)

    def _forget(self, slug: bytes) -> None:
        shard = hash(slug) & 255
        self._young[shard].pop(slug, None)
        self._old[shard].pop(slug, None)
        self._young_dependent[shard].pop(slug, None)
        self._old_dependent[shard].pop(slug, None)
        self._missing.pop(slug, None)
        self._loading.pop(slug, None)

    def _note_change(self, of: bytes) -> None:
        self._changes += 1
        if len(self._changed) >= _CHANGED_AT_MOST:
            self._changed, self._all_changed = {}, self._changes
        self._changed[of] = self._changes
        self._loading.clear()  # any of these may be of a route that has just changed

    def clear(self) -> None:
        for shard in range(_SHARDS):
            self._young[shard], self._old[shard] = {}, {}
            self._young_dependent[shard], self._old_dependent[shard] = {}, {}
        self._missing.clear()
        self._loading.clear()

    def distrust(self) -> None:
        """News from elsewhere may be missed from now on: every hit asks the source first."""
        self._is_trusted = False
        self._seen = _UNTRUSTED

    def trust(self) -> None:
        """News arrives again. What was read before may have changed unseen."""
        self.clear()
        self._is_trusted = True

    def _find_dependent(self, shard: int, slug: bytes) -> Route | None:
        dependent = self._young_dependent[shard].get(slug)
        if dependent is None:
            return self._find_further(shard, slug)
        route, seen = dependent
        if seen == self._changes:
            return route
        if not self._is_current(route, seen):
            return self._find_further(shard, slug)
        self._young_dependent[shard][slug] = route, self._changes
        return route

    def _find_further(self, shard: int, slug: bytes) -> Route | None:
        if not self.keys.fullmatch(slug):
            return MISSING  # nobody can have it: neither asked for nor remembered, however long it is
        route = self._old[shard].pop(slug, None) or self._current(self._old_dependent[shard].pop(slug, None))
        if route is not None:
            self._keep(slug, route)
            return route
        gone_until = self._missing.get(slug)
        if gone_until is not None and time.monotonic() < gone_until:
            return MISSING
        find_now = self._source.find_now
        if find_now is None:
            return None
        try:
            return self._remember(slug, find_now(slug))
        except Unavailable:
            return None  # `load` will meet the same failure where it can be told

    def _catch_up(self) -> None:
        self._position, changed = self._feed.since(self._position)
        if self._is_trusted:
            self._seen = self._position
        if changed is None:
            self.clear()
        for slug in changed or ():
            self.drop(slug)

    def _peek(self, slug: bytes) -> Route | None:
        shard = hash(slug) & 255
        young = self._young[shard].get(slug) or self._current(self._young_dependent[shard].get(slug))
        return young or self._old[shard].get(slug) or self._current(self._old_dependent[shard].get(slug))

    async def _load_once(self, slug: bytes) -> Route:
        """However many visitors ask for a slug at once, the source is asked once."""
        task = self._loading.get(slug)
        if task is None:
            task = self._loading[slug] = asyncio.ensure_future(self._load_from_source(slug))
            task.add_done_callback(partial(self._loaded, slug))
        return await asyncio.shield(task)

    def _loaded(self, slug: bytes, task: "asyncio.Task[Route]") -> None:
        if self._loading.get(slug) is task:
            del self._loading[slug]
        if not task.cancelled():
            task.exception()  # seen: whoever waited has been told, and perhaps nobody waits any more

    async def _load_from_source(self, slug: bytes) -> Route:
        route = await self._source.find(slug)
        if self._loading.get(slug) is asyncio.current_task():
            return self._remember(slug, route)
        return route or MISSING  # it changed while it was read: good for this answer, not for keeping

    def _remember(self, slug: bytes, route: Route | None) -> Route:
        if route is not None:
            self._keep(slug, route)
            return route
        if len(self._missing) >= _MISSING_AT_MOST:
            self._missing.clear()
        self._missing[slug] = time.monotonic() + _MISSING_FOR
        return MISSING

    def _keep(self, slug: bytes, route: Route) -> None:
        """One that is current."""
        shard = hash(slug) & 255
        if len(self._young[shard]) + len(self._young_dependent[shard]) >= self._half_shard:
            self._old[shard], self._young[shard] = self._young[shard], {}
            self._old_dependent[shard], self._young_dependent[shard] = self._young_dependent[shard], {}
        if route[PIXELS] or route[HOST] != self._shared_host:
            self._young_dependent[shard][slug] = route, self._changes
            self._young[shard].pop(slug, None)  # which would be found first
        else:
            self._young[shard][slug] = route

    def _current(self, dependent: _Dependent | None) -> Route | None:
        return dependent[0] if dependent and self._is_current(*dependent) else None

    def _is_current(self, route: Route, seen: int) -> bool:
        """Whether nothing that it depends on has changed since so many changes had been `seen`."""
        if self._all_changed > seen or self._changed.get(route[HOST].removeprefix(UNSERVED), 0) > seen:
            return False
        return all(self._changed.get(pixel, 0) <= seen for pixel in route[PIXELS])


class HostTable(RouteTable):
    """Custom domains, by their names. What a route of theirs holds: `new_host`."""

    keys = HOSTNAME

    def __init__(self, source: Source, feed: ChangeFeed, *, capacity: int) -> None:
        super().__init__(source, feed, capacity=capacity, shared_host=b"")

    def drop(self, told: bytes) -> None:
        """`told`: a host's name, or `host_change` of it."""
        self._forget(told.removeprefix(_OF_HOST))
