"""Aliases: more addresses of links, looked up where a host has some and no slug matched.

An alias leads to a slug, and the slug to its route. So a change of a link needs no message for its aliases. Only a new
slug makes one outdated, which the id of the link shows: then the alias is read again.
"""

import re
from hashlib import blake2b
from urllib.parse import unquote_to_bytes

from waypost.redirect.changes import NEAR_PREFIX, affects_all
from waypost.redirect.feed import ChangeFeed
from waypost.redirect.host_table import HostTable
from waypost.redirect.route import MISSING, NO_ALIAS, AliasRoute, Route, host_of, link_of
from waypost.redirect.table import MemoryTable, RouteSource, RouteTable

_MAX_PATH = 4 * 1024  # bytes of the longest path
_KEY = re.compile(rb"[^/]+/[0-9a-f]{32}")


def path_digest(path: bytes) -> bytes:
    """Return what identifies a path on its host: 16 bytes, so that long paths take no memory."""
    return blake2b(path, digest_size=16).digest()


def alias_change(hostname: str, path: str) -> str:
    """Return a message for the feed: the alias was deleted. For a new one, publish its hostname."""
    return _key(hostname.encode(), path.encode()).decode()


def _key(host: bytes, path: bytes) -> bytes:
    return b"%b/%b" % (host, path_digest(path).hex().encode())


class AliasTable(MemoryTable[AliasRoute]):
    """Slugs of links, by alias; `new_alias` makes their routes."""

    def __init__(self, source: RouteSource[AliasRoute], feed: ChangeFeed, hosts: HostTable, routes: RouteTable) -> None:
        """Counts towards the capacity of `routes`."""
        self._hosts = hosts
        self._routes = routes
        super().__init__(source, feed, capacity=routes.capacity, missing=NO_ALIAS, key_pattern=_KEY)
        self._sharing = routes.share_capacity(self)

    def find_link(self, host: bytes, path: bytes) -> Route | None:
        """Return the route of a link, MISSING, or None if `load_link` has to find it. Never waits or raises.

        `path`: as sent, without the leading slash and known not to be a slug on this host. The host of the route is
        that of the link's own address.
        """
        host_route = self._hosts.find(host)
        if host_route is None:
            return None
        if not host_route.has_aliases or not 0 < len(path) <= _MAX_PATH:
            return None if b"%" in path else MISSING
        if b"%" in path:
            path = unquote_to_bytes(path)
            route = self._routes.find(path)
            if route is None or host_of(route) == host:
                return None  # it may be a slug
        alias = self.find(_key(host, path))
        if alias is None:
            return None
        if alias is NO_ALIAS:
            return MISSING
        self._routes.keep_missing(path)
        _, link, slug = alias
        route = self._routes.find(slug)
        return route if route is not None and link_of(route) == link else None

    async def load_link(self, host: bytes, path: bytes) -> Route:
        """Return the route or MISSING. Raises Unavailable. `path`: decoded; `load` of the routes has no such slug."""
        host_route = await self._hosts.load(host)
        if not host_route.has_aliases or not 0 < len(path) <= _MAX_PATH:
            return MISSING
        key = _key(host, path)
        route = await self._load_link(key)
        if route is None:
            self._evict(key)
            route = await self._load_link(key) or MISSING
        if route is not MISSING:
            self._routes.keep_missing(path)
        return route

    def invalidate(self, change: bytes) -> None:
        if affects_all(change):
            self.clear()
        if b"." not in change or change.startswith(NEAR_PREFIX):
            return  # a link or a pixel
        super().invalidate(change)
        if b"/" not in change:  # a host, which may have a new alias
            self._missing.clear()
            self._loading.clear()

    def _dependencies(self, route: AliasRoute) -> tuple[bytes, ...]:
        host, _, _ = route
        return (host,)

    async def _load_link(self, key: bytes) -> Route | None:
        """Return the route of the link, MISSING if there is no such alias, or None if the link has another slug now."""
        alias = await self.load(key)
        if alias is NO_ALIAS:
            return MISSING
        _, link, slug = alias
        route = await self._routes.load(slug)
        return route if link_of(route) == link else None
