"""Routes in memory: bounded, never older than their source, at the same cost for a thousand or a million links.

Each of 256 shards is a pair of dictionaries, young and old. Routes are loaded into the young one. When it is full, it
becomes the old one and the previous old one is dropped. A hit in the old one moves the route back. This keeps routes in
use like an LRU, but a hit writes nothing, and no step frees or rehashes more than a few thousand entries: one large
dictionary would stop the process for tens of milliseconds when it grows.

A pixel or a custom domain may be on very many links. Its change is one number: routes that depend on one are kept
separately, with the number of changes when they were loaded, which every hit compares. So a change costs the same
for any number of routes, and routes without dependencies pay nothing.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from waypost.kit.errors import Unavailable
from waypost.metrics import Gauge
from waypost.redirect.changes import HOST_PREFIX, PIXEL_PREFIX, affects_all
from waypost.redirect.feed import ChangeFeed
from waypost.redirect.metrics import CACHE_MISSES
from waypost.redirect.route import DISABLED_PREFIX, MISSING, SLUG, Route

_SHARDS: Final = 256
_MISSING_LIFETIME = 10.0  # seconds; creating the slug invalidates it immediately
_MAX_MISSING = 20_000
_SOURCE_PAUSE = 1.0  # seconds without a new attempt after a failure, if memory has a route to serve
_SOURCE_TIMEOUT = 2.0  # seconds; a network that drops packets reports no failure
_NO_POSITION: Final = -1  # never a position of the feed
_MAX_CHANGES = 20_000  # hosts and pixels whose last change is kept

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class RouteSource(Protocol[R_co]):
    """Finds routes: of links by slug, of aliases and hosts by their keys."""

    @property
    def find_sync(self) -> Callable[[bytes], R_co | None] | None:
        """A synchronous `find` where that takes microseconds: on SQLite. Raises Unavailable."""

    async def find(self, slug: bytes) -> R_co | None:
        """Return the route, or None if the slug is missing. Raises Unavailable."""


class MemoryTable(Generic[R]):
    """Routes of one kind, by slug or by another key."""

    def __init__(
        self,
        source: RouteSource[R],
        feed: ChangeFeed,
        *,
        capacity: int,
        missing: R,
        key_pattern: re.Pattern[bytes],
    ) -> None:
        """`capacity`: maximum number of routes in memory. `missing`: the result where there is no route.

        `key_pattern`: any other key is missing without a query of the source.
        """
        self._missing_route = missing
        self._key_pattern = key_pattern
        self.capacity = capacity
        self._source = source
        self._feed = feed
        self._published_bytes = feed.published_bytes
        self._position = self._seen = feed.published_bytes[0]
        self._half_shard = max(1, capacity // _SHARDS // 2)
        self._young: list[dict[bytes, R]] = [{} for _ in range(_SHARDS)]
        self._old: list[dict[bytes, R]] = [{} for _ in range(_SHARDS)]
        self._young_dependent: list[dict[bytes, tuple[R, int]]] = [{} for _ in range(_SHARDS)]
        self._old_dependent: list[dict[bytes, tuple[R, int]]] = [{} for _ in range(_SHARDS)]
        self._extra_weight = [0] * _SHARDS
        """Of young routes that count more than once. What is evicted still counts until the next generation."""
        self._changes = 0
        self._changed: dict[bytes, int] = {}
        self._all_changed = 0
        self._missing: dict[bytes, float] = {}
        self._loading: dict[bytes, asyncio.Task[R]] = {}
        self._is_feed_complete = True
        self._source_failed_at = float("-inf")
        self._has_source_failed = False
        self._misses = CACHE_MISSES
        self._sharing: list[MemoryTable[Any]] = [self]

    def __len__(self) -> int:
        independent = sum(map(len, self._young)) + sum(map(len, self._old))
        return independent + sum(map(len, self._young_dependent)) + sum(map(len, self._old_dependent))

    def gauges(self) -> Iterable[Gauge]:
        return [
            Gauge(
                "waypost_routes_in_memory",
                "Routes in memory, in all processes of this machine.",
                sum(map(len, self._sharing)),
            )
        ]

    def find(self, slug: bytes) -> R | None:
        """Return the route from memory, MISSING, or None if `load` has to find it. Hot path: never waits or raises."""
        if self._published_bytes[0] != self._seen:
            self._catch_up()
            if not self._is_feed_complete:
                return None
        shard = hash(slug) & 255
        return self._young[shard].get(slug) or self._find_dependent(shard, slug)

    async def load(self, slug: bytes) -> R:
        """Return the route or MISSING, from memory or the source. Raises Unavailable if neither has it."""
        route = self.find(slug)
        if route is not None:
            return route
        cached = self._find_without_refresh(slug)
        now = time.monotonic()
        if cached and now - self._source_failed_at < _SOURCE_PAUSE:
            return cached
        if self._has_source_failed:
            self._source_failed_at = now  # others do not wait for this attempt
        try:
            loaded = await self._load_in_time(slug)
        except Unavailable:
            self._source_failed_at, self._has_source_failed = time.monotonic(), True
            if cached:  # without the database, links in memory keep redirecting
                return cached
            raise
        self._has_source_failed = False
        return loaded

    def invalidate(self, change: bytes) -> None:
        """Forgets a slug, or all that a `host_change` or `pixel_change` affects. A read in progress is not kept."""
        if change.startswith((HOST_PREFIX, PIXEL_PREFIX)):
            self._record_change(change[1:])
        elif affects_all(change):
            self.clear()
        else:
            self._evict(change)

    def _evict(self, slug: bytes) -> None:
        shard = hash(slug) & 255
        self._young[shard].pop(slug, None)
        self._old[shard].pop(slug, None)
        self._young_dependent[shard].pop(slug, None)
        self._old_dependent[shard].pop(slug, None)
        self._missing.pop(slug, None)
        self._loading.pop(slug, None)

    def _record_change(self, key: bytes) -> None:
        self._changes += 1
        if len(self._changed) >= _MAX_CHANGES:
            self._changed, self._all_changed = {}, self._changes
        self._changed[key] = self._changes
        self._loading.clear()  # any of these may load a route that has just changed

    def keep_missing(self, slug: bytes) -> None:
        """Keep in memory like a route that the slug is missing: its path is an alias, which has visits."""
        if slug in self._missing:  # not created since it was looked up
            del self._missing[slug]
            self._cache(slug, self._missing_route)

    def share_capacity(self, other: "MemoryTable[Any]") -> "list[MemoryTable[Any]]":
        """Let `other` count towards the capacity of this table. Return the tables that share it."""
        self._sharing.append(other)
        return self._sharing

    def count_young(self, shard: int) -> int:
        return len(self._young[shard]) + len(self._young_dependent[shard]) + self._extra_weight[shard]

    def start_generation(self, shard: int) -> None:
        self._old[shard], self._young[shard] = self._young[shard], {}
        self._old_dependent[shard], self._young_dependent[shard] = self._young_dependent[shard], {}
        self._extra_weight[shard] = 0

    def clear(self) -> None:
        for shard in range(_SHARDS):
            self._young[shard], self._old[shard] = {}, {}
            self._young_dependent[shard], self._old_dependent[shard] = {}, {}
        self._extra_weight = [0] * _SHARDS
        self._missing.clear()
        self._loading.clear()

    def mark_feed_lost(self) -> None:
        """Ask the source at every hit, because changes of other machines may be missed from now on."""
        self._is_feed_complete = False
        self._seen = _NO_POSITION

    def mark_feed_complete(self) -> None:
        """Serve from memory again: the changes of other machines were late, none is missing."""
        self._is_feed_complete = True

    def mark_feed_restored(self) -> None:
        """Serve from memory again, without the routes loaded before: they may have changed in the meantime."""
        self.clear()
        self._is_feed_complete = True

    def _find_dependent(self, shard: int, slug: bytes) -> R | None:
        dependent = self._young_dependent[shard].get(slug)
        if dependent is None:
            return self._find_old_or_source(shard, slug)
        route, seen = dependent
        if seen == self._changes:
            return route
        if not self._is_current(route, seen):
            return self._find_old_or_source(shard, slug)
        self._young_dependent[shard][slug] = route, self._changes
        return route

    def _find_old_or_source(self, shard: int, slug: bytes) -> R | None:
        if not self._key_pattern.fullmatch(slug):
            return self._missing_route  # invalid: neither looked up nor cached, however long it is
        route = self._old[shard].pop(slug, None) or self._current(self._old_dependent[shard].pop(slug, None))
        if route is not None:
            self._cache(slug, route)
            return route
        missing_until = self._missing.get(slug)
        if missing_until is not None and time.monotonic() < missing_until:
            return self._missing_route
        find_sync = self._source.find_sync
        if find_sync is None:
            return None
        self._misses[0] += 1
        try:
            return self._cache_result(slug, find_sync(slug))
        except Unavailable:
            return None  # `load` will get the same failure and can raise it

    def _catch_up(self) -> None:
        self._position, changed = self._feed.since(self._position)
        if self._is_feed_complete:
            self._seen = self._position
        if changed is None:
            self.clear()
        for slug in changed or ():
            self.invalidate(slug)

    def _find_without_refresh(self, slug: bytes) -> R | None:
        shard = hash(slug) & 255
        young = self._young[shard].get(slug) or self._current(self._young_dependent[shard].get(slug))
        return young or self._old[shard].get(slug) or self._current(self._old_dependent[shard].get(slug))

    async def _load_in_time(self, slug: bytes) -> R:
        try:
            async with asyncio.timeout(_SOURCE_TIMEOUT):
                return await self._load_once(slug)
        except TimeoutError:
            raise Unavailable from None

    async def _load_once(self, slug: bytes) -> R:
        """Query the source once for all concurrent visitors of a slug."""
        task = self._loading.get(slug)
        if task is None:
            task = self._loading[slug] = asyncio.ensure_future(self._load_from_source(slug))
            task.add_done_callback(partial(self._loaded, slug))
        return await asyncio.shield(task)

    def _loaded(self, slug: bytes, task: "asyncio.Task[R]") -> None:
        if self._loading.get(slug) is task:
            del self._loading[slug]
        if not task.cancelled():
            task.exception()  # marks it as retrieved; callers that still wait have got it

    async def _load_from_source(self, slug: bytes) -> R:
        self._misses[0] += 1
        route = await self._source.find(slug)
        if self._loading.get(slug) is asyncio.current_task():
            return self._cache_result(slug, route)
        return (
            route or self._missing_route
        )  # it changed while it was loaded: valid for this response, not for the cache

    def _cache_result(self, slug: bytes, route: R | None) -> R:
        if route is not None:
            self._cache(slug, route)
            return route
        if len(self._missing) >= _MAX_MISSING:
            self._missing.clear()
        self._missing[slug] = time.monotonic() + _MISSING_LIFETIME
        return self._missing_route

    def _cache(self, slug: bytes, route: R) -> None:
        """Cache a current route."""
        shard = self._young_shard(slug)
        self._extra_weight[shard] += self._weight(route) - 1
        if self._dependencies(route):
            self._young_dependent[shard][slug] = route, self._changes
            self._young[shard].pop(slug, None)  # it would be found first
        else:
            self._young[shard][slug] = route

    def _young_shard(self, slug: bytes) -> int:
        """Return the shard of the slug. If it is full, start a generation there."""
        shard, count = hash(slug) & 255, 0
        for table in self._sharing:  # without a generator: visits wait for it
            count += table.count_young(shard)
        if count >= self._half_shard:
            for table in self._sharing:
                table.start_generation(shard)
        return shard

    def _current(self, dependent: tuple[R, int] | None) -> R | None:
        return dependent[0] if dependent and self._is_current(*dependent) else None

    def _is_current(self, route: R, seen: int) -> bool:
        """Return whether its host and pixels are unchanged since `seen` changes."""
        return self._all_changed <= seen and all(self._changed.get(key, 0) <= seen for key in self._dependencies(route))

    def _dependencies(self, _route: R) -> tuple[bytes, ...]:
        """Return the host and the pixels whose changes may change the route."""
        return ()

    def _weight(self, _route: R) -> int:
        """Return as how many routes it counts."""
        return 1


class RouteTable(MemoryTable[Route]):
    """The routes of links, by slug."""

    def __init__(self, source: RouteSource[Route], feed: ChangeFeed, *, capacity: int, shared_host: bytes) -> None:
        """`shared_host`: routes on it do not depend on their host."""
        self._independent = {shared_host, b""}
        super().__init__(source, feed, capacity=capacity, missing=MISSING, key_pattern=SLUG)

    def _dependencies(self, route: Route) -> tuple[bytes, ...]:
        host, _, _, _, pixel_ids, _ = route
        return pixel_ids if host in self._independent else (host.removeprefix(DISABLED_PREFIX), *pixel_ids)

    def _weight(self, route: Route) -> int:
        _, _, _, _, _, options = route
        return options.weight if options else 1
