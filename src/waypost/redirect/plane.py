"""State shared by the fast protocol and the ASGI entry point: routes, spool, hosts, and the bytes of answers."""

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from uuid_utils import uuid7
from uvicorn.server import ServerState

from waypost.redirect import pages, pixel_pages
from waypost.redirect.connections import Connections
from waypost.redirect.head import Head, HeadReader
from waypost.redirect.route import LINK, MISSING, Route
from waypost.redirect.spool import Spool, encode
from waypost.redirect.table import HostTable, RouteTable

NOSNIFF = (b"x-content-type-options", b"nosniff")
HSTS = (b"strict-transport-security", b"max-age=31536000")
"""For a year from the last answer. Not for subdomains, nor on custom domains: those are for their owners to decide."""
REDIRECT_HEADERS = (
    (b"cache-control", b"private, no-store"),
    (b"referrer-policy", b"no-referrer-when-downgrade"),
    NOSNIFF,
)

_LOOPBACK = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?")
_MAX_LENGTH = 1024  # bytes; longer user agents are not cached
_HALF = 4_000  # entries of a generation


class BotCache(dict[bytes, bool]):
    """`bots[user_agent]` costs one dictionary look-up for a known user agent, as nearly every visit has one.

    Two generations: a full young one becomes the old one, and a hit in the old one moves back. So a flood of invented
    user agents does not evict the real ones. Bounded in entries and bytes: a client may send a new one each time.
    """

    def __init__(self, is_bot: Callable[[bytes], bool]) -> None:
        super().__init__({b"": is_bot(b"")})  # the first call loads the patterns: before any visitor waits for it
        self._is_bot = is_bot
        self._old: dict[bytes, bool] = {}

    def __missing__(self, agent: bytes) -> bool:
        if len(agent) > _MAX_LENGTH:
            return self._is_bot(agent)
        known = self._old.pop(agent, None)
        if known is None:
            known = self._is_bot(agent)
        if len(self) >= _HALF:
            self._old = dict(self)
            self.clear()
        self[agent] = known
        return known


class VisitSender(Protocol):
    """A connection with answers to visits."""

    def send(self) -> None: ...


class Plane:
    now = 0.0
    """Seconds since 1970 at the first visit of this iteration of the event loop."""
    redirect_head = shared_redirect_head = b""
    """The bytes of a redirect up to its location: on custom domains, and on the shared domain."""
    pixel_page_head = shared_pixel_page_head = b""
    """The bytes of a pixel page up to its nonce."""
    not_found = b""
    _at = b""
    _id = 0
    _default_headers: list[tuple[bytes, bytes]] | None = None

    def __init__(
        self,
        table: RouteTable,
        hosts: HostTable,
        spool: Spool,
        *,
        is_bot: Callable[[bytes], bool],
        shared_host: str,
        app_host: str,
        app_segments: Iterable[str],
        everywhere: Iterable[str] = (),
        has_https: bool = False,
        time_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """`is_bot` takes a raw user agent.

        `app_segments`: first path segments, in lower case, that belong to the application on its host. Those in
        `everywhere` belong to it on every host but the shared one. `has_https`: the service's own hosts use HTTPS.
        """
        self._time_ns = time_ns
        self.hsts = [HSTS] if has_https else []
        self.table = table
        self.hosts = hosts
        self.spool = spool
        self.bots = BotCache(is_bot)
        self.shared_host = shared_host.encode()
        self._app_host = app_host.encode()
        self.own_hosts = frozenset([self.shared_host, self._app_host])
        self._app_segments = frozenset(segment.encode() for segment in app_segments)
        self._everywhere = frozenset(segment.encode() for segment in everywhere)
        self.head_reader = HeadReader()
        self._visits: list[bytes] = []
        self.senders: list[VisitSender] = []
        """Connections that wait for `send`. None: the next visit begins a round."""
        self.nonces = _nonces()
        self.refresh_headers([])

    def refresh_headers(self, default_headers: list[tuple[bytes, bytes]]) -> None:
        """Takes uvicorn's default headers, the date among them. uvicorn makes a new list every second."""
        if default_headers is self._default_headers:
            return
        self._default_headers = default_headers
        # whatever the scheme of a visit: browsers ignore HSTS over plain HTTP (RFC 6797, 8.1)
        shared_headers = [*default_headers, *self.hsts]
        missing = [*shared_headers, *pages.HEADERS, (b"content-length", b"%d" % len(pages.NOT_FOUND))]
        self.redirect_head, self.shared_redirect_head = map(_redirect_head, (default_headers, shared_headers))
        self.pixel_page_head, self.shared_pixel_page_head = map(_pixel_page_head, (default_headers, shared_headers))
        self.not_found = b"HTTP/1.1 404 Not Found\r\n" + _lines(missing) + b"\r\n" + pages.NOT_FOUND

    def is_app(self, segment: bytes, host: bytes) -> bool:
        """The application answers on its own host, and on loopback names for proxies and health checks."""
        if host == self._app_host:
            return segment.lower() in self._app_segments
        if host == self.shared_host:
            return False
        return segment in self._everywhere or (
            segment.lower() in self._app_segments and _LOOPBACK.fullmatch(host) is not None
        )

    def begin_round(self) -> None:
        """Called before the first visit of an iteration of the loop: its visits share a timestamp and a run of ids.

        RFC 9562 allows UUIDv7s of the same moment to count up from a random one.
        """
        now_ns = self._time_ns()
        self.now = now_ns / 1e9
        self._at = str(now_ns // 1000).encode()
        self._id = uuid7().int

    def record(self, route: Route, query: bytes, peer: bytes, head: Head, fired: bytes = b"") -> bytes:
        """Buffers the visit's line until `send`. Returns its id."""
        self._id += 1
        visit = b"%032x" % self._id
        self._visits.append(encode((visit, self._at, route[1][LINK], query, peer, *head[1:], fired)))
        return visit

    def send_later(self, sender: VisitSender) -> None:
        """Sends at the end of this iteration of the loop: one write to the spool for all its connections.

        One write for each visit took two fifths of the time of a redirect.
        """
        if not self.senders:
            asyncio.get_running_loop().call_soon(self.send)
        self.senders.append(sender)

    def send(self) -> None:
        """Writes the spool first: every answered visit must be counted."""
        visits, self._visits = self._visits, []
        senders, self.senders = self.senders, []
        if visits:
            self.spool.append(b"".join(visits))
        for sender in senders:
            sender.send()

    def is_missing(self, route: Route, host: bytes) -> bool:
        return route is MISSING or route[0] != host or self.now >= route[2]


def _redirect_head(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    lines = _lines([*headers, *REDIRECT_HEADERS, (b"content-length", b"0"), (b"location", b"")])
    return b"HTTP/1.1 302 Found\r\n" + lines[:-2]


def _pixel_page_head(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    return pixel_pages.OPENING % _lines([*headers, *pixel_pages.HEADERS])


def _nonces() -> Iterator[bytes]:
    """128 bits each, in hex. Reads many from the kernel at once: one call for each costs as much as a page."""
    while True:
        pool = os.urandom(16 * 256).hex().encode()
        yield from (pool[start : start + 32] for start in range(0, len(pool), 32))


def _lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join(b"%s: %s\r\n" % header for header in headers)


async def maintain(plane: Plane, guard: Connections, server: ServerState) -> None:
    """Once a second: updates the date, syncs the spool, and closes overdue connections."""
    while True:
        await asyncio.sleep(1)
        plane.refresh_headers(server.default_headers)
        await asyncio.to_thread(_sync, plane.spool, guard)
        guard.check(time.monotonic())


def _sync(spool: Spool, guard: Connections) -> None:
    spool.sync()
    guard.report()
