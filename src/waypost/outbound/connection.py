"""Connections: where a new one may go, when a kept one may be used again, and what a response may send.

The limits are enforced where bytes arrive, because the HTTP parser and the client process received data in one go
without returning to the event loop. A response has at most

- MAX_INTERIM interim responses (1xx),
- MAX_HEADS bytes up to the final status,
- MAX_FRAMING bytes around its body: chunk sizes, chunk extensions, trailers,
- `max_body` bytes of body, as sent.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from socket import AF_INET, AF_INET6, AI_NUMERICHOST, socket
from typing import Any, cast

import aiohappyeyeballs
import aiohttp
from aiohttp.abc import ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError

from waypost.kit.urls import Url
from waypost.outbound.addresses import ConnectOn, PinnedAddresses
from waypost.outbound.errors import HEADERS_TOO_LARGE, Unreachable, reason_of
from waypost.outbound.proxy import LATE, CannotConnect

MAX_INTERIM = 20
MAX_HEADS = 131_072
MAX_FRAMING = 32_768
CHUNK = 4_096
"""Bytes parsed per iteration of the event loop: the most hostile ones take a few milliseconds."""
MAX_AGE = 60.0  # seconds until a host is resolved again
MAX_KEPT = 512  # idle connections in total

TIMED_OUT = "timed out"
TRY_TIMEOUT = 1.5
"Seconds until a proxy is asked for the next address of a host."

TOO_MANY_INTERIM = "too many interim responses (1xx)"


Pin = Callable[[Url], Awaitable[PinnedAddresses]]


@dataclass(slots=True)
class SentRequest:
    """What a connector has to know about the request that the current task sends."""

    url: Url
    max_body: int
    connect_timeout: float | None = None
    """Seconds of TCP and TLS, without DNS."""
    when_late: str = TIMED_OUT
    """The reason if time is up now."""


_FAMILIES = {4: AF_INET, 6: AF_INET6}
sent_request: ContextVar[SentRequest] = ContextVar("sent_request")
_pinned: ContextVar[PinnedAddresses] = ContextVar("pinned")  # a connector has one resolver for all requests


class Connector(aiohttp.TCPConnector):
    """Connects to pinned addresses only, and checks every new socket before a byte of the request is sent."""

    def __init__(self, pin: Pin, tls: ssl.SSLContext, *, keepalive: float | None) -> None:
        """`keepalive`: seconds that idle connections are kept; None: each is closed after one request."""
        reuse: dict[str, Any] = {"force_close": True} if keepalive is None else {"keepalive_timeout": keepalive}
        options = {"ssl": tls, "use_dns_cache": False, "limit": 0, **reuse}
        super().__init__(socket_factory=_open_socket, **options)
        self._factory = cast("partial[ResponseHandler]", partial(BoundedConnection, {}, self._loop))
        self._pin = pin

    async def connect(self, req: ClientRequest, *args: Any, **options: Any) -> Connection:
        connection = await super().connect(req, *args, **options)
        while not (bounded := cast("BoundedConnection", connection.protocol)).is_reusable():
            connection.close()
            connection = await super().connect(req, *args, **options)
        bounded.begin(sent_request.get().max_body)
        connection.add_callback(bounded.rest)
        return connection

    async def _create_connection(self, req: ClientRequest, *args: Any, **options: Any) -> ResponseHandler:
        sent = sent_request.get()
        pinned = await self._pin(sent.url)
        _pinned.set(pinned)
        opened = None
        try:
            async with asyncio.timeout(sent.connect_timeout):
                opened = await super()._create_connection(req, *args, **options)
            pinned.check_connected()
        except (aiohttp.ClientError, OSError) as error:
            if opened is not None:  # an empty queue of responses is false
                opened.abort()
            is_late = isinstance(error, TimeoutError)
            raise pinned.refused or Unreachable(sent.when_late if is_late else reason_of(error)) from error
        return opened

    async def _resolve_host(self, host: str, *_: Any, **__: Any) -> list[ResolveResult]:
        """Return the pinned addresses, for a literal address, too: a proxy has another."""
        pinned = _pinned.get()
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=pinned.port,
                family=_FAMILIES[address.version],
                proto=0,
                flags=AI_NUMERICHOST,
            )
            for address in pinned.addresses
        ]

    async def _wrap_create_connection(
        self, *args: Any, addr_infos: list[aiohttp.AddrInfoType], req: ClientRequest, **options: Any
    ) -> tuple[asyncio.Transport, ResponseHandler]:
        if not _pinned.get().connect_on:
            return await super()._wrap_create_connection(*args, addr_infos=addr_infos, req=req, **options)
        opened = await self._connect_on(addr_infos)
        tls = {name: options[name] for name in ("ssl", "server_hostname")}
        try:
            return await self._loop.create_connection(*args, sock=opened, **tls)
        except ssl.CertificateError as error:
            raise aiohttp.ClientConnectorCertificateError(req.connection_key, error) from error
        except ssl.SSLError as error:
            raise aiohttp.ClientConnectorSSLError(req.connection_key, error) from error
        except OSError as error:
            raise aiohttp.ClientConnectorError(req.connection_key, error) from error

    async def _connect_on(self, addr_infos: list[aiohttp.AddrInfoType]) -> socket:
        """Return a socket on which a proxy has connected to the host, by the first way that succeeds."""
        *others, last = _pinned.get().connect_on
        for connect_on in others:
            with contextlib.suppress(TimeoutError, CannotConnect):
                async with asyncio.timeout(TRY_TIMEOUT):
                    return await _connect_on(connect_on, addr_infos)
        return await _connect_on(last, addr_infos)


async def _connect_on(connect_on: ConnectOn, addr_infos: list[aiohttp.AddrInfoType]) -> socket:
    pinned, sent = _pinned.get(), sent_request.get()
    sent.when_late = LATE
    try:
        opened = await aiohappyeyeballs.start_connection(addr_infos, socket_factory=_open_socket)
    except OSError as error:
        raise pinned.refused or Unreachable(f"the proxy cannot be reached: {reason_of(error)}") from error
    try:
        pinned.check_connected()
        await connect_on(opened)
    except BaseException:
        opened.close()
        raise
    sent.when_late = TIMED_OUT
    return opened


def _open_socket(target: aiohttp.AddrInfoType) -> socket:
    return _pinned.get().open_socket(target)


class BoundedConnection(ResponseHandler):
    """Aborts when a response exceeds a limit; the caller waiting for it gets Unreachable.

    Between two requests, from `rest` to `begin`, received data closes it: it belongs to no response.
    """

    def __init__(self, resting: dict["BoundedConnection", None], loop: asyncio.AbstractEventLoop) -> None:
        self._resting = resting
        super().__init__(loop)
        self._opened = loop.time()
        self.begin(0)

    def is_reusable(self) -> bool:
        """Return whether it is new, or neither too old nor with unread data after its last response."""
        if self not in self._resting:
            return True
        return not self.should_close and self._loop.time() - self._opened < MAX_AGE and not self._has_unread_data()

    def begin(self, max_body: int) -> None:
        """Reset the limits before each request."""
        self._resting.pop(self, None)
        self._max_body = max_body
        self._received = 0
        self._interim = 0
        self._has_final = False

    def rest(self) -> None:
        self._resting[self] = None
        if len(self._resting) > MAX_KEPT:
            next(iter(self._resting)).close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        transport.set_protocol(_ChunkedReading(self))

    def data_received(self, data: bytes) -> None:
        if self._is_closing():
            return  # TLS delivers buffered data while it is being closed
        if data and self in self._resting:
            self.close()
            return
        self._received += len(data)
        if excess := self._excess():
            self._refuse(excess)
        else:
            super().data_received(data)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Take one response head; the chunk just parsed may contain several."""
        if self._is_closing():
            return
        if self._has_final:
            self._refuse(Unreachable("more than one response"))
        elif not _is_interim(data[0].code):
            self._has_final = True
            self._received = 0
            super().feed_data(data, size)
        elif self._interim < MAX_INTERIM:
            self._interim += 1
            super().feed_data(data, size)
        else:
            self._refuse(Unreachable(TOO_MANY_INTERIM))

    def connection_lost(self, exc: BaseException | None) -> None:
        self._resting.pop(self, None)
        payload = self._payload
        super().connection_lost(exc)
        if payload is not None and not payload.is_eof() and not payload.exception():
            payload.set_exception(aiohttp.ClientPayloadError())  # an unparsable body; aiohttp would wait for the rest

    def close(self) -> None:
        """Abort: a server that ignores the TLS shutdown would keep the connection open for half a minute."""
        self._resting.pop(self, None)
        self.abort()

    def let_others_run(self) -> None:
        self._pause_transport_reading()
        self._loop.call_soon(self._read_on)

    def _excess(self) -> Unreachable | None:
        if not self._has_final:
            return Unreachable(HEADERS_TOO_LARGE) if self._received > MAX_HEADS else None
        body = 0 if self._payload is None else self._payload.total_bytes
        is_too_long = self._received - min(body, self._max_body) > MAX_FRAMING
        return too_long(self._max_body) if is_too_long else None

    def _has_unread_data(self) -> bool:
        """Return whether a message has begun: its rest would be parsed as the start of the next response."""
        try:
            return self._parser is not None and self._parser.feed_eof() is not None
        except HttpProcessingError:
            return True

    def _is_closing(self) -> bool:
        return self.transport is None or self.transport.is_closing()

    def _read_on(self) -> None:
        if not (self._reading_paused or self._buffer_paused):
            self._resume_transport_reading()

    def _refuse(self, error: Unreachable) -> None:
        if self._payload is not None and not self._payload.is_eof():
            self._payload.set_exception(error)
        self.set_exception(error)
        if self.transport:
            self.transport.abort()


class _ChunkedReading(asyncio.BufferedProtocol):
    """Passes one chunk at a time from transport to connection, and lets other tasks run after each full one.

    A separate protocol because uvloop treats a subclass of `asyncio.Protocol`, as the client's is, as unbuffered.
    """

    def __init__(self, connection: BoundedConnection) -> None:
        self._connection = connection
        self._chunk = memoryview(bytearray(CHUNK))

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  # a hint
        return self._chunk

    def buffer_updated(self, nbytes: int) -> None:
        self._connection.data_received(bytes(self._chunk[:nbytes]))
        if nbytes == CHUNK:
            self._connection.let_others_run()

    def eof_received(self) -> None:
        self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.connection_lost(exc)

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()


def too_long(limit: int) -> Unreachable:
    return Unreachable(f"the response is larger than {limit // 1024} KiB")


def _is_interim(status: int) -> bool:
    return 100 <= status < 200 and status != 101
