"""uvicorn's HTTP protocol with bounds on everything that a client decides: sizes, counts, deadlines and rates.

What the parser refuses is answered with the error envelope of the API.
"""

import json
import re
import time
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from waypost.redirect.connections import Connections

IDLE = 15.0
"""Seconds that a connection may be idle, that a head may take to arrive, and that a client may not read its answer."""
_BODY_WITHIN = 30.0  # seconds
_BODY_GRACE = 5.0  # seconds before its rate counts
_BODY_RATE = 1_000  # bytes a second
_HEAD_LIMIT = 64 << 10
_HEADERS_AT_MOST = 128
_HEADER_COST = 150  # bytes of memory beside its own, measured
_PIPELINED_AT_MOST = 128
_PIPELINED_COST = 3_000  # bytes of memory of a request that waits for its turn
_METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
_REQUEST_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32} \S+ HTTP/1\.[01]\r\n")
_ABSOLUTE = re.compile(rb"https?://([^/?#@]+)((?:[/?][^#]*)?)(?:#.*)?", re.IGNORECASE | re.DOTALL)

Refusal = tuple[int, str, str]
"""(status, error code, message)."""

_MALFORMED: Refusal = (400, "http_error", "The request is not valid HTTP/1.1.")
_TARGET: Refusal = (400, "http_error", "The request's target must be a path or an http or https URL without user name.")
_TOO_MANY_AHEAD: Refusal = (400, "http_error", "Too many requests were sent ahead on one connection.")
_UNKNOWN_METHOD: Refusal = (
    405,
    "method_not_allowed",
    f"The method is not known. Methods of this service: {_METHODS.decode()}.",
)
_HEAD_TOO_LARGE: Refusal = (
    431,
    "http_error",
    f"A request may have at most {_HEADERS_AT_MOST} headers and {_HEAD_LIMIT >> 10} KiB before its body.",
)
_TOO_SLOW: Refusal = (
    408,
    "http_error",
    f"The request did not arrive in time. A head may take {IDLE:.0f} seconds, a body {_BODY_WITHIN:.0f} seconds.",
)


def bounded_protocol(guard: Connections) -> type[HttpToolsProtocol]:
    """The protocol class for a server without visits: `uvicorn.Config(http=bounded_protocol(…))`."""
    return type("BoundedProtocol", (BoundedProtocol,), {"guard": guard})


class _Refused(Exception):
    """Leaves the parser from one of its callbacks."""


class BoundedProtocol(HttpToolsProtocol):
    guard: Connections

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_in_message = False  # the parser has a part of a request and waits for more
        self.is_in_head = False
        self.head_size = 0
        self.headers_held = 0
        self.trailers_size = 0  # of what came since the head or the last piece of the body
        self.active_at = time.monotonic()
        self.peer = b""
        self.held = 0
        self._refusal: Refusal | None = None

    @property
    def is_answered(self) -> bool:
        """Whether nothing that was asked is still to be answered."""
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
        """More of a request that has begun renews neither the time of its head nor that of its body."""
        begins_here, cycle = not self.is_in_message, self.cycle
        if begins_here:
            self.active_at = time.monotonic()
        self._unset_keepalive_if_required()
        self.trailers_size += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # to what is offered beside HTTP/1.1 the answer is HTTP/1.1
        except httptools.HttpParserError as error:
            is_first = begins_here and self.cycle is cycle
            self._refuse(self._refusal or _refusal_of(error, data if is_first else b""))
            return
        if self.is_in_head:
            self._hold_head(data[data.rfind(b"\r\n\r\n") + 4 :] if begins_here else data)
        elif self.is_in_message and self.trailers_size > _HEAD_LIMIT:  # the parser collects a field without end
            self._refuse(_HEAD_TOO_LARGE)
        elif self.pipeline or (self.is_in_message and not self.cycle.response_complete):  # else it is forgotten
            self.guard.hold(self, len(data))

    # What the parser reports

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= _PIPELINED_AT_MOST:
            self._leave_parser(_TOO_MANY_AHEAD)
        self.is_in_message = self.is_in_head = True
        self.head_size = self.headers_held = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.is_in_head:  # a trailer, which uvicorn would keep
            return
        if len(self.headers) >= _HEADERS_AT_MOST:
            self._leave_parser(_HEAD_TOO_LARGE)
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
        """What is complete waits for us: no other client shall be closed for it."""
        self.is_in_message = False
        super().on_message_complete()
        if not self.pipeline:
            self.guard.release(self)

    def on_response_complete(self) -> None:
        self.active_at = time.monotonic()
        super().on_response_complete()
        if self.is_answered:
            self.cycle.body.clear()  # not wanted; uvicorn would keep it as long as the connection
        if not (self.pipeline or self.is_in_head):
            self.guard.release(self)
        if self.pipeline or self.flow.write_paused:  # uvicorn has just resumed reading
            self.flow.pause_reading()

    # Back-pressure: a client that sends and does not read is not read from

    def pause_writing(self) -> None:
        self.active_at = time.monotonic()  # the client's time begins now, however long we took
        super().pause_writing()
        self.flow.pause_reading()

    def resume_writing(self) -> None:
        self.active_at = time.monotonic()
        super().resume_writing()
        if not self.pipeline:
            self.flow.resume_reading()

    # Deadlines

    def check(self, now: float) -> None:
        """No connection has a timer of its own: arming one costs as much as a redirect."""
        age = now - self.active_at
        if self.transport.is_closing() or self.flow.write_paused:
            if age > IDLE:
                self.transport.abort()  # it reads nothing: closing would wait for it
        elif self.is_answered:
            if age > IDLE:
                self._refuse(_TOO_SLOW) if self.is_in_head else self.transport.close()
        elif self.is_in_message and not self.flow.read_paused and self._is_body_late(age):
            self._refuse(_TOO_SLOW)

    def abort(self) -> None:
        self.transport.abort()

    def _is_body_late(self, age: float) -> bool:
        return age > _BODY_WITHIN or (age > _BODY_GRACE and self.held < age * _BODY_RATE)

    # Refusals

    def _leave_parser(self, refusal: Refusal) -> None:
        self._refusal = refusal
        raise _Refused

    def _refuse(self, refusal: Refusal) -> None:
        """Answers in place of the application, unless it has begun to, and closes the connection."""
        self.guard.malformed(refusal[2])
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(_answer(refusal, self.server_state.default_headers))
        self.transport.close()

    def _hold_head(self, data: bytes) -> None:
        """`data`: what has come of an unfinished head. uvicorn would collect it without end."""
        self.head_size += len(data)
        new_headers, self.headers_held = len(self.headers) - self.headers_held, len(self.headers)
        self.guard.hold(self, len(data) + _HEADER_COST * new_headers)
        if self.head_size > _HEAD_LIMIT:
            self._refuse(_HEAD_TOO_LARGE)

    def _read_authority(self) -> None:
        """Absolute form: the URL's authority takes the place of `Host` (RFC 9112, section 3.2.2)."""
        absolute = _ABSOLUTE.fullmatch(self.url)
        if absolute is None:
            self._leave_parser(_TARGET)
            return
        authority, path = absolute.groups()
        self.url = path if path.startswith(b"/") else b"/" + path
        self.headers[:] = [(b"host", authority), *(header for header in self.headers if header[0] != b"host")]


def _refusal_of(error: httptools.HttpParserError, data: bytes) -> Refusal:
    """`data`: from where the request begins; empty where that is not known."""
    is_method = isinstance(error, httptools.HttpParserInvalidMethodError) and _REQUEST_LINE.match(data)
    return _UNKNOWN_METHOD if is_method else _MALFORMED


def _answer(refusal: Refusal, default_headers: list[tuple[bytes, bytes]]) -> bytes:
    status, code, message = refusal
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
