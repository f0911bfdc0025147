"""Near addresses: those that people mean by one that no link has. Looked up only where the exact address is missing.

In this order: without a slash or punctuation at the end, cut at the first `&`, and with other case. Case is ignored in
aliases and in slugs that a person chose, unless two links of the host differ by nothing else. The case-folded
addresses of all hosts are in a filter, so that hardly any address without a near one costs a query.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from waypost.redirect.address_filter import AddressFilter
from waypost.redirect.aliases import AliasTable
from waypost.redirect.changes import HOST_PREFIX, NEAR_PREFIX, PIXEL_PREFIX, affects_all
from waypost.redirect.feed import ChangeFeed
from waypost.redirect.host_table import HostTable
from waypost.redirect.route import MISSING, NO_HOST, NO_NEAR, NearRoute, Route, host_of, link_of
from waypost.redirect.table import MemoryTable, RouteSource, RouteTable

_MAX_SENT: Final = 3 * 4 * 1024  # bytes of the longest alias, percent-encoded
_MAX_UNFILTERED: Final = 255  # bytes of an address that is looked up although the filter does not have it
_MAX_BEGINNINGS: Final = 2  # of an address that are looked up although the filter does not have them
_MAX_STEPS: Final = 8  # spellings with some of the punctuation; after these all of it goes
_BYTES_PER_ROUTE: Final = 256
_KEY = re.compile(rb"[^/]+/[^\0]{1,6144}", re.DOTALL)
_AMPERSAND = re.compile(rb"&|%26")
_SLASH: Final = 0x2F
_AMPERSAND_CODE: Final = 0x26
_PERCENT: Final = 0x25
_PUNCTUATION: Final = b".,;:!?)]}>'\"*_"
_SPACES: Final = tuple(char.encode() for char in "\u00a0\u202f\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
"""No-break spaces, and characters without width."""


def fold(path: bytes) -> bytes:
    """Return what paths have in common that differ only by case. Empty for one that is not UTF-8."""
    if path.isascii():
        return path.lower()
    try:
        return path.decode().casefold().encode()
    except UnicodeDecodeError:
        return b""


def near_change(path: str) -> str:
    """Return a message for the feed: a link got an address, or an alias was deleted."""
    return (NEAR_PREFIX + fold(path.encode())).decode()


class Spelling(NamedTuple):
    path: bytes
    """Percent-decoded."""
    is_cut: bool
    """Whether it ends where the address as sent has its first `&`."""
    is_last: bool
    """Whether nothing is left to remove at its end."""


def spellings(sent: bytes) -> list[Spelling]:
    """Return other spellings of an address, nearest first. `sent`: its path without the leading slash."""
    found = _shortened(unquote_to_bytes(sent), is_cut=False)
    cut = _AMPERSAND.search(sent)
    if cut and cut.start():
        base = unquote_to_bytes(sent[: cut.start()])
        shorter = _shortened(base, is_cut=True)
        found += [Spelling(base, is_cut=True, is_last=not shorter), *shorter]
    return found


def query_of(sent: bytes, query: bytes) -> bytes:
    """Return the query of an address that is cut at its first `&`. `query`: what follows its question mark."""
    _, *rest = _AMPERSAND.split(sent, 1)
    return b"&".join(part for part in (*rest, query) if part)


def _shortened(path: bytes, *, is_cut: bool) -> list[Spelling]:
    """Remove one character at the end after the other, of which one may be a slash. After some, remove all at once."""
    found: list[bytes] = []
    has_slash = False
    while path:
        if path[len(path) - 1] in _PUNCTUATION:
            path = path[: len(path) - 1] if len(found) < _MAX_STEPS else path.rstrip(_PUNCTUATION)
        elif path.endswith(_SPACES):
            path = path[: len(path) - (2 if path.endswith(_SPACES[0]) else 3)]
        elif path[len(path) - 1] == _SLASH and not has_slash:
            path, has_slash = path[: len(path) - 1], True
        else:
            break
        if len(found) == _MAX_STEPS:
            found.pop()
        found.append(path)
    return [Spelling(step, is_cut, number == len(found) - 1) for number, step in enumerate(found) if step]


class NearLink(NamedTuple):
    route: Route
    """MISSING where no link is near."""
    is_cut: bool = False
    """Whether the address is cut at its first `&`, and the rest is the query."""


_NO_LINK: Final = NearLink(MISSING)


class NearTable(MemoryTable[NearRoute]):
    """Slugs of links, by host and case-folded address; `new_near` makes their routes."""

    def __init__(
        self,
        source: RouteSource[NearRoute],
        feed: ChangeFeed,
        hosts: HostTable,
        routes: RouteTable,
        aliases: AliasTable,
        *,
        shared_host: bytes,
        ignores_case: bool,
    ) -> None:
        """`ignores_case`: on the shared host. Counts towards the capacity of `routes`."""
        self._hosts = hosts
        self._routes = routes
        self._aliases = aliases
        self._shared_host = shared_host
        self._shared_ignores_case = ignores_case
        self._filter: AddressFilter | None = None
        self._has_all = False
        """Whether all addresses are in the filter. After changes were missed, it still has most of them."""
        self._added: list[bytes] | None = None
        """Addresses that are new since `start_loading`."""
        super().__init__(source, feed, capacity=routes.capacity, missing=NO_NEAR, key_pattern=_KEY)
        self._sharing = routes.share_capacity(self)

    @property
    def needs_filter(self) -> bool:
        """Whether addresses have to be loaded: at the start, after changes were missed, and if there are many more."""
        return self._is_feed_complete and (self._filter is None or not self._has_all or self._filter.is_full)

    def start_loading(self) -> None:
        """Keep new addresses from now on for the filter that `finish_loading` gets."""
        self._catch_up()
        self._added = []

    def finish_loading(self, addresses: AddressFilter) -> None:
        """Use the filter, unless changes were missed while it was loaded."""
        if self._added is None:
            return
        for address in self._added:
            addresses.add(address)
        self._filter, self._has_all, self._added = addresses, True, None

    def find_link(self, host: bytes, path: bytes) -> Route | None:
        """Return the route of a link, MISSING where none is near, or None if `load_link` has to find it.

        `path`: as sent, without the leading slash. No link of this host has it. Never waits or raises.
        """
        if self._published_bytes[0] != self._seen:
            self._catch_up()
        addresses = self._filter
        if addresses is None or not self._knows_all():
            return None
        ignores_case = self._shared_ignores_case
        if host != self._shared_host:
            host_route = self._hosts.find(host)
            if host_route is None or host_route is NO_HOST:
                return None if host_route is None else MISSING
            ignores_case = host_route.ignores_case
        if not path.isalnum():  # else it has nothing of what follows
            if not path or not path.isascii() or _PERCENT in path or _AMPERSAND_CODE in path:
                return None
            last = path[len(path) - 1]
            if last == _SLASH or last in _PUNCTUATION:
                return self._find_spelled(host, path, ignores_case=ignores_case)
        if not ignores_case or path.lower() not in addresses:
            return MISSING
        return self._find_folded(host, path)

    async def load_link(self, host: bytes, sent: bytes) -> NearLink:
        """Return the link that is meant. Raises Unavailable. `sent`: the path, of which `load` found no link."""
        if self._published_bytes[0] != self._seen:
            self._catch_up()
        ignores_case = self._shared_ignores_case
        if host != self._shared_host:
            host_route = await self._hosts.load(host)
            if host_route is NO_HOST:
                return _NO_LINK
            ignores_case = host_route.ignores_case
        if len(sent) > _MAX_SENT:
            return _NO_LINK
        others = self._possible(sent)
        for spelling in others:
            route = await self._load_exact(host, spelling.path)
            if route is not MISSING:
                return NearLink(route, spelling.is_cut)
        if ignores_case:
            for spelling in (Spelling(unquote_to_bytes(sent), is_cut=False, is_last=False), *others):
                route = await self._load_folded(host, spelling.path)
                if route is not MISSING:
                    self._routes.keep_missing(spelling.path)
                    return NearLink(route, spelling.is_cut)
        return _NO_LINK

    def invalidate(self, change: bytes) -> None:
        """`change`: any. A slug may have been moved, renamed or deleted."""
        if affects_all(change) or change == NEAR_PREFIX:
            super().clear()  # no address is new
        elif change.startswith(NEAR_PREFIX):
            self._add(change[len(NEAR_PREFIX) :])
        elif change.startswith(HOST_PREFIX):
            self._change(change[1:])
        elif not change.startswith(PIXEL_PREFIX) and b"." not in change:
            folded = fold(change)
            if self._may_have(folded):
                self._change(folded)

    def clear(self) -> None:
        """Forget all: some changes were missed."""
        super().clear()
        self._has_all, self._added = False, None

    def _add(self, folded: bytes) -> None:
        if self._filter is not None:
            self._filter.add(folded)
        if self._added is not None:
            self._added.append(folded)
        self._change(folded)

    def _change(self, key: bytes) -> None:
        self._record_change(key)
        self._missing.clear()  # of any host; what is not in the filter is not in here

    def possible_beginnings(self, longest_first: list[bytes]) -> list[bytes]:
        """Return those that aliases may have, as sent. Unless the filter knows all, also the shortest."""
        if self._published_bytes[0] != self._seen:
            self._catch_up()
        unknown = () if self._knows_all() else longest_first[-_MAX_BEGINNINGS:]
        return [path for path in longest_first if path in unknown or self._is_known(fold(unquote_to_bytes(path)))]

    def _knows_all(self) -> bool:
        return self._has_all and self._is_feed_complete

    def _is_known(self, folded: bytes) -> bool:
        """Return whether an alias or a slug that a person chose may have it on any host."""
        return self._filter is not None and folded in self._filter

    def _may_have(self, folded: bytes) -> bool:
        return self._is_known(folded) or (not self._knows_all() and 0 < len(folded) <= _MAX_UNFILTERED)

    def _possible(self, sent: bytes) -> Sequence[Spelling]:
        """Return the spellings that links may have. Generated slugs are not in the filter, and have no punctuation.

        Unless the filter knows all, the first and the last, and of the others those that it has.
        """
        found = spellings(sent)
        if self._knows_all():
            return [spelling for spelling in found if spelling.is_last or self._is_known(fold(spelling.path))]
        between = [spelling for spelling in found[1:-1] if self._is_known(fold(spelling.path))]
        return [*found[:1], *between, *found[1:][-1:]]

    def _find_spelled(self, host: bytes, path: bytes, *, ignores_case: bool) -> Route | None:
        if len(path) > _MAX_UNFILTERED:
            return None
        others = self._possible(path)
        for spelling in others:
            route = self._routes.find(spelling.path)
            if route is None or host_of(route) == host:
                return route
            if host != self._shared_host:
                route = self._aliases.find_link(host, spelling.path)
                if route is not MISSING:
                    return route
        if ignores_case:
            for near in (path, *[spelling.path for spelling in others]):
                route = self._find_folded(host, near)
                if route is not MISSING:
                    return route
        return MISSING

    def _find_folded(self, host: bytes, path: bytes) -> Route | None:
        folded = path.lower()
        if self._filter is None or folded not in self._filter:
            return MISSING
        near = self.find(_key(host, folded))
        if near is None:
            return None
        if near is NO_NEAR:
            return MISSING
        self._routes.keep_missing(path)
        _, _, link, slug = near
        route = self._routes.find(slug)
        return route if route is not None and link_of(route) == link else None

    async def _load_exact(self, host: bytes, path: bytes) -> Route:
        route = await self._routes.load(path)
        if host_of(route) == host:
            return route
        return MISSING if host == self._shared_host else await self._aliases.load_link(host, path)

    async def _load_folded(self, host: bytes, path: bytes) -> Route:
        folded = fold(path)
        if not self._may_have(folded):
            return MISSING
        key = _key(host, folded)
        for _ in range(2):
            near = await self.load(key)
            if near is NO_NEAR:
                return MISSING
            _, _, link, slug = near
            route = await self._routes.load(slug)
            if link_of(route) == link:
                return route
            self._evict(key)  # the link has another slug now
        return MISSING

    def _dependencies(self, route: NearRoute) -> tuple[bytes, ...]:
        host, folded, _, _ = route
        return (host, folded)

    def _weight(self, route: NearRoute) -> int:
        _, folded, _, _ = route
        return 1 + len(folded) // _BYTES_PER_ROUTE


def _key(host: bytes, folded: bytes) -> bytes:
    return b"%b/%b" % (host, folded)
