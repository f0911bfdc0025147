"""Aliases: more addresses of links, looked up where a host has some and no slug matched.

An alias leads to a slug, and the slug to its route. So a change of a link needs no message for its aliases. Only a new
slug makes one outdated, which the id of the link shows: then the alias is read again.
"""

import re
from hashlib import blake2b
from typing import Protocol
from urllib.parse import unquote_to_bytes

from waypost.redirect.feed import ChangeFeed
from waypost.redirect.known_aliases import DigestSource, KnownAliases
from waypost.redirect.route import HAS_ALIASES, HOST, LINK_ID, LOCATION, MISSING, TARGET, Route
from waypost.redirect.table import HOST_PREFIX, HostTable, RouteTable, Source

_MAX_PATH = 4 * 1024  # bytes of the longest path


def path_digest(path: bytes) -> bytes:
    """Return what identifies a path on its host: 16 bytes, so that long paths take no memory."""
    return blake2b(path, digest_size=16).digest()


def alias_change(hostname: str, path: str) -> str:
    """Return a message for the feed: the alias was deleted. For a new one, publish its hostname."""
    return _key(hostname.encode(), path.encode()).decode()


def _key(host: bytes, path: bytes) -> bytes:
    return b"%b/%b" % (host, path_digest(path).hex().encode())


class AliasSource(Source, DigestSource, Protocol):
    """Finds the routes of aliases by key, and which aliases a host has."""


class AliasTable(RouteTable):
    """Slugs of links, by alias. `new_alias` makes their routes."""

    key_pattern = re.compile(rb"[^/]+/[0-9a-f]{32}")

    def __init__(self, source: AliasSource, feed: ChangeFeed, routes: RouteTable) -> None:
        """Counts towards the capacity of `routes`."""
        self.known = KnownAliases(source)
        super().__init__(source, feed, capacity=routes.capacity, shared_host=b"")
        self._sharing = routes.share_capacity(self)

    def invalidate(self, change: bytes) -> None:
        """`change`: an `alias_change`, a host name or a `host_change`."""
        if b"." not in change:
            return  # a slug or a pixel
        super().invalidate(change)
        if b"/" not in change:
            self.forget_missing()
            self.known.forget(change.removeprefix(HOST_PREFIX))

    def clear(self) -> None:
        super().clear()
        self.known.clear()

    def _find_old_or_source(self, shard: int, slug: bytes) -> Route | None:
        host, _, digest = slug.partition(b"/")
        return MISSING if self.known.excludes(host, digest) else super()._find_old_or_source(shard, slug)


class Aliases:
    """Finds the route of the link that has an alias. Its HOST is that of the link's own address."""

    def __init__(self, aliases: AliasTable, hosts: HostTable, table: RouteTable) -> None:
        self.table = aliases
        self._hosts = hosts
        self._routes = table

    def find(self, host: bytes, path: bytes) -> Route | None:
        """Return the route if memory has it, or None. Hot path: never waits or raises.

        `path`: as sent, without the leading slash and known not to be a slug on this host.
        """
        host_route = self._hosts.find(host)
        if host_route is None or not host_route[HAS_ALIASES] or len(path) > _MAX_PATH:
            return None
        if b"%" in path:
            path = unquote_to_bytes(path)
            route = self._routes.find(path)
            if route is None or route[HOST] == host:
                return None  # it may be a slug
        alias = self.table.find(_key(host, path))
        if alias is None or alias is MISSING:
            return None
        self._routes.keep_missing(path)
        route = self._routes.find(alias[TARGET][LOCATION])
        return route if route and route[TARGET][LINK_ID] == alias[TARGET][LINK_ID] else None

    async def load(self, host: bytes, path: bytes) -> Route:
        """Return the route or MISSING. Raises Unavailable. `path`: decoded; `load` of the routes has no such slug."""
        host_route = await self._hosts.load(host)
        if not host_route[HAS_ALIASES] or not 0 < len(path) <= _MAX_PATH:
            return MISSING
        key = _key(host, path)
        route = await self._load_link(key)
        if route is None:
            self.table.forget(key)
            route = await self._load_link(key) or MISSING
        if route is MISSING:
            await self.table.known.count_unknown(host)
        else:
            self._routes.keep_missing(path)
        return route

    async def _load_link(self, key: bytes) -> Route | None:
        """Return the route, MISSING if there is no such alias, or None if the link has another slug now."""
        alias = await self.table.load(key)
        if alias is MISSING:
            return MISSING
        route = await self._routes.load(alias[TARGET][LOCATION])
        return route if route[TARGET][LINK_ID] == alias[TARGET][LINK_ID] else None
