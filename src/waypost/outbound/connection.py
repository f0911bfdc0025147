"""Connections: where a new one may go, how fast it is read, and when a kept one may be used again."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Any, cast

from aiohappyeyeballs import AddrInfoType, start_connection

from waypost.kit.urls import Url
from waypost.outbound.addresses import ConnectOn, PinnedAddresses
from waypost.outbound.errors import Unreachable, handshake_failed, reason_of
from waypost.outbound.limit import TIMED_OUT, Limit
from waypost.outbound.proxy import LATE, CannotConnect

CHUNK = 4_096
"""Bytes read per iteration of the event loop: what is done with the most hostile ones takes a few milliseconds."""
MAX_AGE = 60.0  # seconds until a host is resolved again
MAX_KEPT = 512  # idle connections in total
TRY_TIMEOUT = 1.5
"Seconds until a proxy is asked for the next address of a host."

_NEXT_ADDRESS = 0.25  # seconds until the next address of a host is tried, too (RFC 8305)
_FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}

_Origin = tuple[str, str, int]
"""Scheme, host and port."""


class HttpConnection(asyncio.BufferedProtocol):
    """Between two requests, while it is idle, received data closes it: it belongs to no response."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._opened = self._loop.time()
        self._transport: asyncio.Transport | None = None
        self._chunk = memoryview(bytearray(CHUNK))
        self._received = b""
        self._is_paused = False
        self._has_ended = False
        self._error: Exception | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._forget: Callable[[HttpConnection], None] | None = None

    def send(self, data: bytes) -> None:
        """Nothing is sent, and nothing received, if the connection is lost."""
        if self._transport:
            self._transport.write(data)

    async def receive(self) -> bytes:
        """Return what arrived; nothing at the end. Raises OSError."""
        if not self._received and not self._has_ended:
            if self._is_paused and self._transport:
                self._is_paused = False
                self._transport.resume_reading()
            self._waiting = self._loop.create_future()
            await self._waiting
        received, self._received = self._received, b""
        if not received and self._error:
            raise self._take_error(self._error)
        return received

    def _take_error(self, error: Exception) -> Exception:
        """Forget it: its traceback leads to this connection, which would wait for a collection of garbage."""
        self._error = None
        return error

    def rest(self, seconds: float, forget: Callable[["HttpConnection"], None]) -> None:
        """Wait for the next request for some seconds. `forget` is called if none can be sent any more."""
        until = min(self._loop.time() + seconds, self._opened + MAX_AGE)
        self._forget, self._end_of_rest = forget, self._loop.call_at(until, self.abort)
        if self._received or self._has_ended:
            self.abort()

    def wake(self) -> bool:
        """Return whether another request can be sent."""
        self._forget = None
        self._end_of_rest.cancel()
        return self._loop.time() < self._end_of_rest.when()

    def abort(self) -> None:
        """Close at once: a server that ignores the TLS shutdown would keep the connection open for half a minute."""
        if self._forget:
            self._forget(self)
            self.wake()
        if self._transport:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  # a hint
        return self._chunk

    def buffer_updated(self, nbytes: int) -> None:
        if self._forget:
            self.abort()
            return
        self._received += self._chunk[:nbytes]
        if len(self._received) >= CHUNK and self._transport and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()
        self._continue()

    def eof_received(self) -> None:
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None  # with TLS it has 256 KiB, which would wait for a collection of garbage
        self._end(exc)

    def _end(self, error: Exception | None) -> None:
        if not self._has_ended:
            self._has_ended, self._error = True, error
        if self._forget:
            self.abort()
        self._continue()

    def _continue(self) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(None)


class IdleConnections:
    """Connections that wait for another request to the same origin."""

    def __init__(self) -> None:
        self._origins: dict[HttpConnection, _Origin] = {}  # the one that is idle longest is the first
        self._connections: dict[_Origin, list[HttpConnection]] = {}

    def take(self, origin: _Origin) -> HttpConnection | None:
        while connections := self._connections.get(origin):
            connection = connections[-1]
            self._forget(connection)
            if connection.wake():
                return connection
            connection.abort()
        return None

    def put(self, origin: _Origin, connection: HttpConnection, *, seconds: float) -> None:
        self._origins[connection] = origin
        self._connections.setdefault(origin, []).append(connection)
        connection.rest(seconds, self._forget)
        if len(self._origins) > MAX_KEPT:
            next(iter(self._origins)).abort()

    def close(self) -> None:
        for connection in list(self._origins):
            connection.abort()

    def _forget(self, connection: HttpConnection) -> None:
        origin = self._origins.pop(connection)
        connections = self._connections[origin]
        connections.remove(connection)
        if not connections:
            del self._connections[origin]


async def connect(url: Url, pinned: PinnedAddresses, tls: ssl.SSLContext | None, limit: Limit) -> HttpConnection:
    """Connect to one of the addresses, with TLS if a context is given. Raises NotPublic, Unreachable."""
    try:
        opened = await _socket(pinned, limit)
    except OSError as error:
        raise pinned.refused or Unreachable(reason_of(error)) from error
    with_tls: dict[str, Any] = {"ssl": tls, "server_hostname": url.host} if tls else {}
    try:
        _, connection = await asyncio.get_running_loop().create_connection(HttpConnection, sock=opened, **with_tls)
    except OSError as error:
        raise handshake_failed(error) from error
    return connection


async def _socket(pinned: PinnedAddresses, limit: Limit) -> socket.socket:
    """Return a socket on which the host answers. Raises OSError, Unreachable."""
    if not pinned.connect_on:
        return await _checked_socket(pinned, next_after=_NEXT_ADDRESS)
    *others, last = pinned.connect_on
    for connect_on in others:
        with contextlib.suppress(TimeoutError, CannotConnect):
            async with asyncio.timeout(TRY_TIMEOUT):
                return await _through_proxy(connect_on, pinned, limit)
    return await _through_proxy(last, pinned, limit)


async def _through_proxy(connect_on: ConnectOn, pinned: PinnedAddresses, limit: Limit) -> socket.socket:
    limit.when_late = LATE
    try:
        opened = await _checked_socket(pinned, next_after=None)
    except OSError as error:
        raise pinned.refused or Unreachable(f"the proxy cannot be reached: {reason_of(error)}") from error
    try:
        await connect_on(opened)
    except BaseException:
        opened.close()
        raise
    limit.when_late = TIMED_OUT
    return opened


async def _checked_socket(pinned: PinnedAddresses, *, next_after: float | None) -> socket.socket:
    """`next_after`: seconds until another address is tried at the same time. None: one after the other."""
    ways: list[AddrInfoType] = [
        (_FAMILIES[address.version], socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (str(address), pinned.port))
        for address in pinned.addresses
    ]
    opened = await start_connection(ways, happy_eyeballs_delay=next_after, socket_factory=pinned.open_socket)
    try:
        pinned.check_connected()
    except OSError:
        opened.close()
        raise
    return opened
