"""Limits on what HTTP responses may send, in total and at a time.

Enforced where bytes arrive, because the HTTP parser and the client process received data in one go without returning to
the event loop. A response has at most

- MAX_INTERIM interim responses (1xx),
- MAX_HEADS bytes up to the final status,
- MAX_FRAMING bytes around its body: chunk sizes, chunk extensions, trailers,
- `max_body` bytes of body, as sent.
"""

import asyncio
from typing import Any

from aiohttp import ClientPayloadError
from aiohttp.client_proto import ResponseHandler

from waypost.outbound.errors import HEADERS_TOO_LARGE, Unreachable

MAX_INTERIM = 20
MAX_HEADS = 131_072
MAX_FRAMING = 32_768
CHUNK = 4_096
"""Bytes parsed per iteration of the event loop: the most hostile ones take a few milliseconds."""

TOO_MANY_INTERIM = "too many interim responses (1xx)"


class BoundedConnection(ResponseHandler):
    """Aborts when a response exceeds a limit; the caller waiting for it gets Unreachable."""

    def __init__(self, loop: asyncio.AbstractEventLoop, max_body: int = 0) -> None:
        super().__init__(loop)
        self.begin(max_body)

    def begin(self, max_body: int) -> None:
        """Reset the limits before each request."""
        self._max_body = max_body
        self._received = 0
        self._interim = 0
        self._has_final = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        transport.set_protocol(_ChunkedReading(self))

    def data_received(self, data: bytes) -> None:
        if self._is_closing():
            return  # TLS delivers what it still holds while it is being closed
        self._received += len(data)
        if excess := self._excess():
            self._refuse(excess)
        else:
            super().data_received(data)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """One response head; the chunk just parsed may hold several."""
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
        payload = self._payload
        super().connection_lost(exc)
        if payload is not None and not payload.is_eof() and not payload.exception():
            payload.set_exception(ClientPayloadError())  # an unparsable body; aiohttp would wait for the rest

    def close(self) -> None:
        """Abort: a server that ignores the TLS shutdown would hold the connection for half a minute."""
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
