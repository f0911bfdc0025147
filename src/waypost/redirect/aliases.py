"""Aliases: more addresses of links, looked up where a host has some and no slug matched.

An alias leads to a slug, and the slug to its route. So a change of a link needs no message for its aliases. Only a new
slug makes one outdated, which the id of the link shows: then the alias is read again.

This takes several look-ups and a digest, together half as long as a redirect. So its result is kept by host and path
as sent, with the number of changes when the alias was found. It is valid until a later change may affect it: of any
host, alias or pixel, or of a slug in the same one of 256 groups as that of the link.
"""

import re
from hashlib import blake2b
from typing import Final, Protocol
from urllib.parse import unquote_to_bytes

from waypost.redirect.changes import HOST_PREFIX, affects_all
from waypost.redirect.feed import ChangeFeed
from waypost.redirect.host_table import HostTable
from waypost.redirect.known_aliases import DigestSource, KnownAliases
from waypost.redirect.route import HAS_ALIASES, HOST, ID_SIZE, MISSING, SLUG, TARGET, Route
from waypost.redirect.table import RouteSource, RouteTable

_MAX_PATH = 4 * 1024  # bytes of the longest path
_MAX_KEPT_PATH = 255  # bytes, as many as a slug has
_GROUPS: Final = 256
_KEY = re.compile(rb"[^/]+/[0-9a-f]{32}")


def path_digest(path: bytes) -> bytes:
    """Return what identifies a path on its host: 16 bytes, so that long paths take no memory."""
    return blake2b(path, digest_size=16).digest()


def alias_change(hostname: str, path: str) -> str:
    """Return a message for the feed: the alias was deleted. For a new one, publish its hostname."""
    return _key(hostname.encode(), path.encode()).decode()


def _key(host: bytes, path: bytes) -> bytes:
    return b"%b/%b" % (host, path_digest(path).hex().encode())


class AliasSource(RouteSource, DigestSource, Protocol):
    """Finds the routes of aliases by key, and which aliases a host has."""


class AliasTable(RouteTable):
    """Slugs of links, by alias; `new_alias` makes their routes. Also the routes of links, by host and path."""

    def __init__(self, source: AliasSource, feed: ChangeFeed, hosts: HostTable, routes: RouteTable) -> None:
        """Counts towards the capacity of `routes`."""
        self._hosts = hosts
        self._routes = routes
        self._known = KnownAliases(source)
        self._last_changes = [0] * _GROUPS
        super().__init__(source, feed, capacity=routes.capacity, shared_host=b"", key_pattern=_KEY)
        self._sharing = routes.share_capacity(self)

    def find_link(self, host: bytes, path: bytes) -> Route | None:
        """Return the route of a link if memory has it, or None. Hot path: never waits or raises.

        `path`: as sent, without the leading slash and known not to be a slug on this host. HOST of the route is that of
        the link's own address.
        """
        if self._published_bytes[0] != self._seen:
            self._catch_up()
            if not self._is_feed_complete:
                return None
        address = host + b" " + path  # differs from every alias: they have no space
        shard = hash(address) & 255
        kept = self._young_dependent[shard].get(address)
        if kept is None and (kept := self._old_dependent[shard].pop(address, None)):
            self._keep(address, *kept)
        if kept is None or kept[1] < self._last_changes[kept[1] % _GROUPS]:
            return self._find_and_keep(host, path, address)
        return kept[0]

    async def load_link(self, host: bytes, path: bytes) -> Route:
        """Return the route or MISSING. Raises Unavailable. `path`: decoded; `load` of the routes has no such slug."""
        host_route = await self._hosts.load(host)
        if not host_route[HAS_ALIASES] or not 0 < len(path) <= _MAX_PATH:
            return MISSING
        key = _key(host, path)
        route = await self._load_target(key)
        if route is None:
            self._evict(key)
            route = await self._load_target(key) or MISSING
        if route is MISSING:
            await self._known.count_unknown(host)
        else:
            self._routes.keep_missing(path)
        return route

    def invalidate(self, change: bytes) -> None:
        self._changes += 1
        if SLUG.fullmatch(change):
            self._last_changes[hash(change) % _GROUPS] = self._changes * _GROUPS
            return
        self._last_changes = [self._changes * _GROUPS] * _GROUPS
        if affects_all(change):
            self.clear()
        if b"." not in change:
            return  # a pixel
        super().invalidate(change)
        if b"/" not in change:  # a host, which may have a new alias
            self._missing.clear()
            self._loading.clear()
            self._known.forget(change.removeprefix(HOST_PREFIX))

    def clear(self) -> None:
        super().clear()
        self._known.clear()

    def _find_and_keep(self, host: bytes, path: bytes, address: bytes) -> Route | None:
        may_keep = len(path) <= _MAX_KEPT_PATH
        host_route = self._hosts.find(host)
        if host_route is None or not host_route[HAS_ALIASES] or len(path) > _MAX_PATH:
            return None
        if b"%" in path:
            path = unquote_to_bytes(path)
            route = self._routes.find(path)
            if route is None or route[HOST] == host:
                return None  # it may be a slug
            may_keep = may_keep and not SLUG.fullmatch(path)  # or a later slug would not win
        alias = self.find(_key(host, path))
        if alias is None or alias is MISSING:
            return None
        self._routes.keep_missing(path)
        slug = alias[TARGET][ID_SIZE:]
        route = self._routes.find(slug)
        if route is None or route[TARGET][:ID_SIZE] != alias[TARGET][:ID_SIZE]:
            return None
        if may_keep:
            # counted when the alias was found, so before the route was
            self._keep(address, route, self._changes * _GROUPS + hash(slug) % _GROUPS)
        return route

    def _keep(self, address: bytes, route: Route, changes: int) -> None:
        shard = self._young_shard(address)
        self._young_dependent[shard][address] = route, changes

    def _find_old_or_source(self, shard: int, slug: bytes) -> Route | None:
        host, _, digest = slug.partition(b"/")
        return MISSING if self._known.excludes(host, digest) else super()._find_old_or_source(shard, slug)

    async def _load_target(self, key: bytes) -> Route | None:
        """Return the route of the link, MISSING if there is no such alias, or None if the link has another slug now."""
        alias = await self.load(key)
        if alias is MISSING:
            return MISSING
        route = await self._routes.load(alias[TARGET][ID_SIZE:])
        return route if route[TARGET][:ID_SIZE] == alias[TARGET][:ID_SIZE] else None
