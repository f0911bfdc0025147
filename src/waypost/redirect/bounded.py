"""uvicorn's HTTP protocol with limits on everything a client controls: sizes, counts, deadlines and rates.

Requests that the parser rejects are answered with the API's error envelope.
"""

import json
import re
import time
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from waypost.redirect.connections import Connections

IDLE_TIMEOUT = 15.0
"""Seconds allowed for an idle connection, for a head to arrive, and for a client to read its answer."""
_BODY_WITHIN = 30.0  # seconds
_BODY_GRACE = 5.0  # seconds before its rate is checked
_BODY_RATE = 1_000  # bytes a second
_HEAD_LIMIT = 64 << 10
_HEADERS_AT_MOST = 128
_HEADER_COST = 150  # bytes of memory in addition to its size, measured
_PIPELINED_AT_MOST = 128
_PIPELINED_COST = 3_000  # bytes of memory of a waiting request
_METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
_REQUEST_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32} \S+ HTTP/1\.[01]\r\n")
_ABSOLUTE = re.compile(rb"https?://([^/?#@]+)((?:[/?][^#]*)?)(?:#.*)?", re.IGNORECASE | re.DOTALL)

HttpError = tuple[int, str, str]
"""(status, error code, message)."""

_MALFORMED: HttpError = (400, "http_error", "The request is not valid HTTP/1.1.")
_TARGET: HttpError = (400, "http_error", "The target must be a path, or an http or https URL without a user name.")
_TOO_MANY_PIPELINED: HttpError = (400, "http_error", "Too many pipelined requests on one connection.")
_UNKNOWN_METHOD: HttpError = (405, "method_not_allowed", f"Unknown method. Supported: {_METHODS.decode()}.")
_HEAD_TOO_LARGE: HttpError = (
    431,
    "http_error",
    f"A request may have at most {_HEADERS_AT_MOST} headers and a head of {_HEAD_LIMIT >> 10} KiB.",
)
_TOO_SLOW: HttpError = (
    408,
    "http_error",
    f"The request timed out. A head may take {IDLE_TIMEOUT:.0f} seconds, a body {_BODY_WITHIN:.0f} seconds.",
)


def bounded_protocol(guard: Connections) -> type[HttpToolsProtocol]:
    """The protocol class for a server without visits, for `uvicorn.Config(http=…)`."""
    return type("BoundedProtocol", (BoundedProtocol,), {"guard": guard})


class _ParsingAborted(Exception):
    """Aborts the parser from within a callback."""


class BoundedProtocol(HttpToolsProtocol):
    guard: Connections

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_in_message = False  # the parser has part of a request
        self.is_in_head = False
        self.head_size = 0
        self.headers_held = 0
        self.trailers_size = 0  # bytes since the head or the last chunk of the body
        self.active_at = time.monotonic()
        self.peer = b""
        self.held = 0
        self._error: HttpError | None = None

    @property
    def is_answered(self) -> bool:
        """Whether every request has its answer."""
        return (self.cycle is None or self.cycle.response_complete) and not self.pipeline

    @property
    def is_incomplete(self) -> bool:
        return self.is_in_message

    @property
    def is_waiting(self) -> bool:
        return self.is_in_message or self.is_answered or bool(self.pipeline) or self.flow.write_paused

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.peer = self.client[0].encode() if self.client else b""
        self.guard.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.guard.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Further data of a request extends neither the deadline of its head nor that of its body."""
        begins_here, cycle = not self.is_in_message, self.cycle
        if begins_here:
            self.active_at = time.monotonic()
        self._unset_keepalive_if_required()
        self.trailers_size += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # every offered upgrade is answered with HTTP/1.1
        except httptools.HttpParserError as failure:
            is_first = begins_here and self.cycle is cycle
            self._fail(self._error or _error_of(failure, data if is_first else b""))
            return
        if self.is_in_head:
            self._hold_head(data[data.rfind(b"\r\n\r\n") + 4 :] if begins_here else data)
        elif self.is_in_message and self.trailers_size > _HEAD_LIMIT:  # the parser would buffer an endless field
            self._fail(_HEAD_TOO_LARGE)
        elif self.pipeline or (self.is_in_message and not self.cycle.response_complete):  # or uvicorn discards it
            self.guard.hold(self, len(data))

    # What the parser reports

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= _PIPELINED_AT_MOST:
            self._abort_parsing(_TOO_MANY_PIPELINED)
        self.is_in_message = self.is_in_head = True
        self.head_size = self.headers_held = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.is_in_head:  # uvicorn would keep this trailer
            return
        if len(self.headers) >= _HEADERS_AT_MOST:
            self._abort_parsing(_HEAD_TOO_LARGE)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self.is_in_head = False
        self.trailers_size = 0
        if not self.url.startswith((b"/", b"*")):
            self._read_authority()
        super().on_headers_complete()
        if self.pipeline:
            self.guard.hold(self, _PIPELINED_COST + _HEADER_COST * len(self.headers))

    def on_body(self, body: bytes) -> None:
        self.trailers_size = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A complete request waits for us: no other client may be closed for its memory."""
        self.is_in_message = False
        super().on_message_complete()
        if not self.pipeline:
            self.guard.release(self)

    def on_response_complete(self) -> None:
        self.active_at = time.monotonic()
        super().on_response_complete()
        if self.is_answered:
            self.cycle.body.clear()  # unused; uvicorn would keep it as long as the connection
        if not (self.pipeline or self.is_in_head):
            self.guard.release(self)
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
        elif self.is_answered:
            if age > IDLE_TIMEOUT:
                self._fail(_TOO_SLOW) if self.is_in_head else self.transport.close()
        elif self.is_in_message and not self.flow.read_paused and self._is_body_late(age):
            self._fail(_TOO_SLOW)

    def abort(self) -> None:
        self.transport.abort()

    def _is_body_late(self, age: float) -> bool:
        return age > _BODY_WITHIN or (age > _BODY_GRACE and self.held < age * _BODY_RATE)

    # Errors

    def _abort_parsing(self, error: HttpError) -> None:
        self._error = error
        raise _ParsingAborted

    def _fail(self, error: HttpError) -> None:
        """Answers instead of the application, unless that has started, and closes the connection."""
        self.guard.count_malformed(error[2])
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(_answer(error, self.server_state.default_headers))
        self.transport.close()

    def _hold_head(self, data: bytes) -> None:
        """`data`: part of an unfinished head, which uvicorn would buffer without limit."""
        self.head_size += len(data)
        new_headers, self.headers_held = len(self.headers) - self.headers_held, len(self.headers)
        self.guard.hold(self, len(data) + _HEADER_COST * new_headers)
        if self.head_size > _HEAD_LIMIT:
            self._fail(_HEAD_TOO_LARGE)

    def _read_authority(self) -> None:
        """In absolute form the URL's authority replaces `Host` (RFC 9112, section 3.2.2)."""
        absolute = _ABSOLUTE.fullmatch(self.url)
        if absolute is None:
            self._abort_parsing(_TARGET)
            return
        authority, path = absolute.groups()
        self.url = path if path.startswith(b"/") else b"/" + path
        self.headers[:] = [(b"host", authority), *(header for header in self.headers if header[0] != b"host")]


def _error_of(error: httptools.HttpParserError, data: bytes) -> HttpError:
    """`data` starts with the request; it is empty if the start is unknown."""
    is_method = isinstance(error, httptools.HttpParserInvalidMethodError) and _REQUEST_LINE.match(data)
    return _UNKNOWN_METHOD if is_method else _MALFORMED


def _answer(error: HttpError, default_headers: list[tuple[bytes, bytes]]) -> bytes:
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
