"""State shared by the fast protocol and the ASGI entry point: routes, spool, hosts, and the bytes of responses."""

import asyncio
import os
import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from uuid_utils import uuid7

from waypost.http.connections import Connections
from waypost.redirect import pages, pixel_pages, report_pages
from waypost.redirect.aliases import AliasTable
from waypost.redirect.host_table import HostTable
from waypost.redirect.metrics import BUCKETS_NS, FAST_LATENCY, REDIRECTED
from waypost.redirect.missed import MissedAddresses
from waypost.redirect.near import NearTable
from waypost.redirect.page_cache import PageCache
from waypost.redirect.request import RequestReader, VisitRequest
from waypost.redirect.spool import MAX_LINE_SIZE, Spool, encode
from waypost.redirect.table import RouteTable

if TYPE_CHECKING:
    from uvicorn.server import ServerState

    from waypost.redirect.click_limits import ClickLimits
    from waypost.redirect.routing.requests import VisitorReader

NOSNIFF = (b"x-content-type-options", b"nosniff")
HSTS = (b"strict-transport-security", b"max-age=31536000")
"""For a year from the last response. Not for subdomains and custom domains: their owners decide."""
REDIRECT_HEADERS = (
    (b"cache-control", b"private, no-store"),
    (b"referrer-policy", b"no-referrer-when-downgrade"),
    NOSNIFF,
)

_LOOPBACK = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?")
_MAX_CACHED_LENGTH = 1024  # bytes; longer user agents are not cached
_GENERATION_SIZE = 4_000
_HEX: Final = [b"%02x" % number for number in range(256)]
_IDS: Final = len(_HEX)


class BotCache(dict[bytes, bool]):
    """Caches whether a user agent is a bot. `bots[user_agent]` costs one dictionary look-up for a known one.

    Two generations: a full young one becomes the old one, and a hit in the old one moves back. So many invented user
    agents do not evict the real ones. Bounded in entries and bytes: a client may send a new one each time.
    """

    def __init__(self, is_bot: Callable[[bytes], bool]) -> None:
        super().__init__({b"": is_bot(b"")})  # the first call loads the patterns, before a visitor waits for it
        self._is_bot = is_bot
        self._old: dict[bytes, bool] = {}

    def __missing__(self, agent: bytes) -> bool:
        if len(agent) > _MAX_CACHED_LENGTH:
            return self._is_bot(agent)
        is_bot = self._old.pop(agent, None)
        if is_bot is None:
            is_bot = self._is_bot(agent)
        if len(self) >= _GENERATION_SIZE:
            self._old = dict(self)
            self.clear()
        self[agent] = is_bot
        return is_bot


class WaitingResponses:
    """The responses of a connection to visits that are not in the spool yet."""

    def __init__(self) -> None:
        self.responses = b""
        self.write: Callable[[bytes], object] = _write_nothing

    def send_responses(self) -> None:
        responses, self.responses = self.responses, b""
        self.write(responses)


def _write_nothing(_responses: bytes) -> None:
    """Before the connection is made."""


def _lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join(b"%s: %s\r\n" % header for header in headers)


_REDIRECT_LINES = _lines([*REDIRECT_HEADERS, (b"content-length", b"0"), (b"location", b"")])[:-2]


class ResponseHeads:
    """The bytes of responses up to what differs between visits."""

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        lines = _lines(headers)
        page = b"HTTP/1.1 200 OK\r\n" + lines
        not_found = b"HTTP/1.1 404 Not Found\r\n" + lines + _lines(pages.HEADERS)
        self.redirect = b"HTTP/1.1 302 Found\r\n" + lines + _REDIRECT_LINES
        """Up to its location."""
        self.pixel_page = pixel_pages.RESPONSE_PREFIX % (lines + _lines(pixel_pages.HEADERS))
        """Up to its nonce."""
        self.preview = page + _lines(pages.PREVIEW_HEADERS)
        self.info_page = page + _lines(report_pages.HEADERS)
        """Up to the length of the page, as `preview`."""
        self.not_found = with_page(not_found, pages.NOT_FOUND)
        """A whole response, as `expired`."""
        self.expired = with_page(not_found, pages.EXPIRED)


def with_page(head: bytes, page: bytes) -> bytes:
    return b"%bcontent-length: %d\r\n\r\n%b" % (head, len(page), page)


class RedirectState:
    def __init__(
        self,
        table: RouteTable,
        hosts: HostTable,
        aliases: AliasTable,
        near: NearTable,
        spool: Spool,
        *,
        is_bot: Callable[[bytes], bool],
        shared_host: str,
        app_host: str,
        app_segments: Iterable[str],
        all_hosts_segments: Iterable[str] = (),
        has_https: bool = False,
        time_ns: Callable[[], int] = time.time_ns,
        new_visitor_reader: "Callable[[], VisitorReader]",
        new_click_limits: "Callable[[], ClickLimits]",
    ) -> None:
        """`is_bot` takes a raw user agent. `has_https`: the service's own hosts use HTTPS.

        `app_segments`: first path segments, in lower case, that the application serves on `app_host`.
        `all_hosts_segments`: those that it also serves on every other host except `shared_host`.
        """
        self.now = 0.0
        """Seconds since 1970 at the first visit of this iteration of the event loop."""
        self.monotonic_now = 0.0
        """The same on the monotonic clock."""
        self.pages_in_batch = 0
        """Visits recorded since the last `flush` that got a page instead of a redirect."""
        self._now_ns = 0
        self._at = b""
        self._id_prefix = b""
        self._next_id = 0
        self._time_ns = time_ns
        self._new_visitor_reader = new_visitor_reader
        self._new_click_limits = new_click_limits
        self.hsts = [HSTS] if has_https else []
        self.table = table
        self.hosts = hosts
        self.aliases = aliases
        self.near = near
        self.spool = spool
        self.bots = BotCache(is_bot)
        self.missed = MissedAddresses()
        self.shared_host = shared_host.encode()
        self._app_host = app_host.encode()
        self.own_hosts = frozenset([self.shared_host, self._app_host])
        self._app_segments = frozenset(segment.encode() for segment in app_segments)
        self._all_hosts_segments = frozenset(segment.encode() for segment in all_hosts_segments)
        self.request = RequestReader(self.visitors)
        self.pages: PageCache[bytes] = PageCache(len)
        self._visits: list[bytes] = []
        self.waiting_connections: list[WaitingResponses] = []
        """Connections that wait for `flush`. If there are none, the next visit begins a batch."""
        self.nonces = _nonces()
        self._visitors: VisitorReader | None = None
        self._click_limits: ClickLimits | None = None
        self._default_headers: list[tuple[bytes, bytes]] | None = None
        self.refresh_headers([])

    def refresh_headers(self, default_headers: list[tuple[bytes, bytes]]) -> None:
        """Update the headers of responses. uvicorn makes a new list of default headers, with the date, every second."""
        if default_headers is self._default_headers:
            return
        self._default_headers = default_headers
        self.heads = ResponseHeads(default_headers)
        # whatever the scheme of a visit: browsers ignore HSTS over plain HTTP (RFC 6797, 8.1)
        self.shared_heads = ResponseHeads([*default_headers, *self.hsts])
        """Those on the shared domain."""

    def is_app(self, segment: bytes, host: bytes) -> bool:
        """Return whether the application serves the path: on its own host, and on loopback names for health checks."""
        if host == self._app_host:
            return segment.lower() in self._app_segments
        if host == self.shared_host:
            return False
        return segment in self._all_hosts_segments or (
            segment.lower() in self._app_segments and _LOOPBACK.fullmatch(host) is not None
        )

    def is_person(self, user_agent: bytes) -> bool:
        """Return whether it is no bot, and no program that says nothing of itself."""
        return bool(user_agent) and not self.bots[user_agent]

    def begin_batch(self) -> None:
        """Called before the first visit of an event loop iteration: its visits share time and most of their ids."""
        self._now_ns = now_ns = self._time_ns()
        self.now = now_ns / 1e9
        self.monotonic_now = time.monotonic()
        self._at = b"%d" % (now_ns // 1000)
        self._new_ids()

    def record(self, link: bytes, request: VisitRequest, pixels: bytes = b"", target: str = "") -> bytes:
        """Buffer the visit's line until `flush`. Return its id. `target`: empty without rules and variants.

        The fields are those of `spool.Visit`, in its order.
        """
        visit = self._new_id()
        fields = [  # without tabs
            visit,
            self._at,
            link,
            request.query,
            request.peer,
            request.forwarded_for,
            request.forwarded,
            request.user_agent,
            request.referrer,
            request.language,
            request.purpose,
            request.privacy,
            (b"%b\t%b\n" % (pixels, target.encode()) if target else pixels + b"\n"),
        ]
        line = b"\t".join(fields)
        self._visits.append(line if len(line) <= MAX_LINE_SIZE else encode(line[:-1].split(b"\t")))
        return visit

    def _new_id(self) -> bytes:
        if self._next_id == _IDS:
            self._new_ids()
        self._next_id += 1
        return self._id_prefix + _HEX[self._next_id - 1]

    def _new_ids(self) -> None:
        """Draw a UUIDv7 whose last byte counts up: RFC 9562 allows it, and a call for each visit costs more."""
        self._id_prefix = uuid7().hex[:-2].encode()
        self._next_id = 0

    def visitors(self) -> "VisitorReader":
        """Reads visitors of links with rules or variants."""
        if self._visitors is None:
            self._visitors = self._new_visitor_reader()
        return self._visitors

    @property
    def click_limits(self) -> "ClickLimits":
        """Counts clicks of links with a limit."""
        if self._click_limits is None:
            self._click_limits = self._new_click_limits()
        return self._click_limits

    def flush_later(self, connection: WaitingResponses) -> None:
        """Flush at the end of this event loop iteration: one write to the spool for all its connections.

        One write for each visit took two fifths of the time of a redirect.
        """
        if not self.waiting_connections:
            asyncio.get_running_loop().call_soon(self.flush)
        self.waiting_connections.append(connection)

    def flush(self) -> None:
        """Write the spool, then the responses: every visit with a response must be counted."""
        visits, self._visits = self._visits, []
        waiting_connections, self.waiting_connections = self.waiting_connections, []
        if visits:
            self.spool.append(b"".join(visits))
            REDIRECTED[0] += len(visits) - self.pages_in_batch
            self.pages_in_batch = 0
        for connection in waiting_connections:
            connection.send_responses()
        if waiting_connections:  # their number is that of the responses; one clock reading for all of them
            duration = self._time_ns() - self._now_ns
            if duration > 0:  # unless the clock was set back
                FAST_LATENCY[-1] += len(waiting_connections) * duration * 1e-9
            FAST_LATENCY[bisect_left(BUCKETS_NS, duration)] += len(waiting_connections)


def _nonces() -> Iterator[bytes]:
    """Generate nonces of 128 bits in hex. Reads many with one system call: a call for each costs as much as a page."""
    while True:
        pool = os.urandom(16 * 256).hex().encode()
        yield from (pool[start : start + 32] for start in range(0, len(pool), 32))


async def maintain(state: RedirectState, connections: Connections, server: "ServerState") -> None:
    """Once a second, update the date, sync the spool, and close overdue connections."""
    while True:
        await asyncio.sleep(1)
        state.refresh_headers(server.default_headers)
        await asyncio.to_thread(_sync, state.spool, connections)
        connections.check(time.monotonic())


def _sync(spool: Spool, connections: Connections) -> None:
    spool.sync()
    connections.report()
