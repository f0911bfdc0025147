"""uvicorn's HTTP protocol with limits on everything a client controls: sizes, counts, deadlines and rates.

Requests that the parser rejects get the API's error envelope.
"""

import json
import re
import time
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from waypost.http.connections import Connections

IDLE_TIMEOUT = 15.0
"""Seconds allowed for an idle connection, for a head to arrive, and for a client to read its response."""
_BODY_TIMEOUT = 30.0  # seconds
_BODY_RATE_AFTER = 5.0  # seconds until the rate of a body is checked
_MIN_BODY_RATE = 1_000  # bytes per second
_MAX_HEAD_SIZE = 64 << 10
_MAX_HEADERS = 128
_HEADER_COST = 150  # bytes of memory in addition to its size, measured
_MAX_PIPELINED = 128
_PIPELINED_COST = 3_000  # bytes of memory of a waiting request
_METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
_REQUEST_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32} \S+ HTTP/1\.[01]\r\n")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_ABSOLUTE_URL = re.compile(rb"https?://([^/?#@]+)((?:[/?][^#]*)?)(?:#.*)?", re.IGNORECASE | re.DOTALL)

HttpError = tuple[int, str, str]
"""(status, error code, message)."""

_MALFORMED: HttpError = (400, "http_error", "The request is not valid HTTP/1.1.")
_INVALID_TARGET: HttpError = (
    400,
    "http_error",
    "The target must be a path, or an http or https URL without a user name.",
)
_TOO_MANY_PIPELINED: HttpError = (400, "http_error", "Too many pipelined requests on one connection.")
_UNKNOWN_METHOD: HttpError = (405, "method_not_allowed", f"Unknown method. Supported: {_METHODS.decode()}.")
_HEAD_TOO_LARGE: HttpError = (
    431,
    "http_error",
    f"A request must have at most {_MAX_HEADERS} headers and a head of {_MAX_HEAD_SIZE >> 10} KiB.",
)
_TOO_SLOW: HttpError = (
    408,
    "http_error",
    f"The request timed out. A head may take {IDLE_TIMEOUT:.0f} seconds, a body {_BODY_TIMEOUT:.0f} seconds.",
)


def bounded_protocol(connections: Connections) -> type[HttpToolsProtocol]:
    """Return the protocol class of a server without visits, for `uvicorn.Config(http=…)`."""
    return type("BoundedProtocol", (BoundedProtocol,), {"client_connections": connections})


class _ParsingAborted(Exception):
    """Abort the parser from within a callback."""


class BoundedProtocol(HttpToolsProtocol):
    client_connections: Connections

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_in_message = False  # the parser has part of a request
        self.is_in_head = False
        self.head_size = 0
        self.counted_headers = 0
        self.trailers_size = 0  # bytes since the head or the last chunk of the body
        self.framing_size = 0  # bytes of the last data that are no body
        self.active_at = time.monotonic()
        self.peer = b""
        self.memory = 0
        self._error: HttpError | None = None

    @property
    def has_responded(self) -> bool:
        """Whether every request has its complete response."""
        return (self.cycle is None or self.cycle.response_complete) and not self.pipeline

    @property
    def is_incomplete(self) -> bool:
        return self.is_in_message

    @property
    def is_waiting(self) -> bool:
        return self.is_in_message or self.has_responded or bool(self.pipeline) or self.flow.write_paused

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.peer = self.client[0].encode() if self.client else b""
        self.client_connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.client_connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser. Further data of a request extends neither the deadline of its head nor that of its body."""
        is_new, cycle = not self.is_in_message, self.cycle
        if is_new:
            self.active_at = time.monotonic()
            data = data if data.isascii() else _encode_target(data)
        self._unset_keepalive_if_required()
        self.trailers_size += len(data)
        self.framing_size = len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # offered upgrades are ignored
        except httptools.HttpParserError as failure:
            is_first = is_new and self.cycle is cycle
            self._fail(self._error or _http_error(failure, data if is_first else b""))
            return
        if self.is_in_head:
            self._add_head_memory(data[data.rfind(b"\r\n\r\n") + 4 :] if is_new else data)
        elif self.is_in_message and self.trailers_size > _MAX_HEAD_SIZE:  # the parser would buffer an endless field
            self._fail(_HEAD_TOO_LARGE)
        elif self.pipeline or (self.is_in_message and not self.cycle.response_complete):
            self.client_connections.add_memory(self, len(data))
        elif self.is_in_message:
            self._count_trailer()

    # What the parser reports

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= _MAX_PIPELINED:
            self._abort_parsing(_TOO_MANY_PIPELINED)
        self.is_in_message = self.is_in_head = True
        self.head_size = self.counted_headers = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.is_in_head:  # uvicorn would keep this trailer
            return
        if len(self.headers) >= _MAX_HEADERS:
            self._abort_parsing(_HEAD_TOO_LARGE)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self.is_in_head = False
        self.trailers_size = 0
        if not self.url.startswith((b"/", b"*")):
            self._read_authority()
        super().on_headers_complete()
        if self.pipeline:
            self.client_connections.add_memory(self, _PIPELINED_COST + _HEADER_COST * len(self.headers))

    def on_body(self, body: bytes) -> None:
        self.trailers_size = 0
        self.framing_size -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Release the memory: a complete request waits for us, and no connection may be closed for it."""
        self.is_in_message = False
        super().on_message_complete()
        if not self.pipeline:
            self.client_connections.release_memory(self)

    def on_response_complete(self) -> None:
        self.active_at = time.monotonic()
        super().on_response_complete()
        if self.has_responded:
            self.cycle.body.clear()  # unused; uvicorn would keep it as long as the connection
        if not (self.pipeline or self.is_in_head):
            self._count_trailer() if self.is_in_message else self.client_connections.release_memory(self)
        if self.pipeline or self.flow.write_paused:  # uvicorn has just resumed reading
            self.flow.pause_reading()

    # Back-pressure: do not read from a client that does not read

    def pause_writing(self) -> None:
        self.active_at = time.monotonic()  # the client's deadline starts now, however long we took
        super().pause_writing()
        self.flow.pause_reading()

    def resume_writing(self) -> None:
        self.active_at = time.monotonic()
        super().resume_writing()
        if not self.pipeline:
            self.flow.resume_reading()

    # Deadlines

    def check(self, now: float) -> None:
        """Called once a second. A timer per connection would cost as much as a redirect."""
        age = now - self.active_at
        if self.transport.is_closing() or self.flow.write_paused:
            if age > IDLE_TIMEOUT:
                self.transport.abort()  # it reads nothing, and close() would wait for it
        elif self.has_responded:
            if age > IDLE_TIMEOUT:
                self._fail(_TOO_SLOW) if self.is_in_head else self.transport.close()
        elif self.is_in_message and not self.flow.read_paused and self._is_body_late(age):
            self._fail(_TOO_SLOW)

    def abort(self) -> None:
        self.transport.abort()

    def _is_body_late(self, age: float) -> bool:
        return age > _BODY_TIMEOUT or (age > _BODY_RATE_AFTER and self.memory < age * _MIN_BODY_RATE)

    # Errors

    def _abort_parsing(self, error: HttpError) -> None:
        self._error = error
        raise _ParsingAborted

    def _fail(self, error: HttpError) -> None:
        """Respond instead of the application, unless that has started, and close the connection."""
        self.client_connections.count_malformed(error[2])
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(_encode_error(error, self.server_state.default_headers))
        self.transport.close()

    def _add_head_memory(self, data: bytes) -> None:
        """Count the memory of an unfinished head, which uvicorn would buffer without limit. `data`: a part of it."""
        self.head_size += len(data)
        new_headers, self.counted_headers = len(self.headers) - self.counted_headers, len(self.headers)
        self.client_connections.add_memory(self, len(data) + _HEADER_COST * new_headers)
        if self.head_size > _MAX_HEAD_SIZE:
            self._fail(_HEAD_TOO_LARGE)

    def _count_trailer(self) -> None:
        """Count the rest of an answered request: its body is discarded, but the parser keeps an unfinished trailer."""
        self.client_connections.release_memory(self)
        self.client_connections.add_memory(self, self.trailers_size or self.framing_size)

    def _read_authority(self) -> None:
        """Replace `Host` by the authority of a URL in absolute form (RFC 9112, section 3.2.2)."""
        absolute = _ABSOLUTE_URL.fullmatch(self.url)
        if absolute is None:
            self._abort_parsing(_INVALID_TARGET)
            return
        authority, path = absolute.groups()
        self.url = path if path.startswith(b"/") else b"/" + path
        self.headers[:] = [(b"host", authority), *(header for header in self.headers if header[0] != b"host")]


def _encode_target(data: bytes) -> bytes:
    """Percent-encode raw bytes of the request line, which the parser refuses and some programs send as UTF-8."""
    line, end, rest = data.partition(b"\r\n")
    return _NOT_ASCII.sub(lambda byte: b"%%%02X" % ord(byte[0]), line) + end + rest


def _http_error(error: httptools.HttpParserError, data: bytes) -> HttpError:
    """`data` starts with the request; it is empty if the start is unknown."""
    is_method = isinstance(error, httptools.HttpParserInvalidMethodError) and _REQUEST_LINE.match(data)
    return _UNKNOWN_METHOD if is_method else _MALFORMED


def _encode_error(error: HttpError, default_headers: list[tuple[bytes, bytes]]) -> bytes:
    status, code, message = error
    body = json.dumps({"error": {"code": code, "message": message}}, separators=(",", ":")).encode()
    headers = [
        *default_headers,
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
        *([(b"allow", _METHODS)] if status == 405 else []),
        (b"connection", b"close"),
    ]
    return STATUS_LINE[status] + b"".join(b"%s: %s\r\n" % header for header in headers) + b"\r\n" + body
