"""Visits answered inside the HTTP protocol; everything else goes on to uvicorn and the ASGI application untouched.

An ordinary GET or HEAD of a route in memory is answered in the parser's callback: no task, no scope, no ASGI message.
Whatever is unusual about a request (a body, an upgrade, HTTP/1.0, `Expect`, a doubled header, an encoded path, another
answer still in progress on the connection) makes it not ours. Only uvicorn's parser callbacks are overridden, and the
version of uvicorn is pinned to the one they were read from.
"""

import re
import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from waypost.redirect.plane import NOT_FOUND_PAGE, Plane

_SLUG = re.compile(rb"[A-Za-z0-9_-]+")
_UNUSUAL = frozenset([b"content-length", b"transfer-encoding", b"expect", b"upgrade"])
_HEAD_LIMIT = 64 << 10
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def protocol_for(plane: Plane) -> type[HttpToolsProtocol]:
    """The protocol class that uvicorn makes one of per connection: `uvicorn.Config(http=protocol_for(plane))`."""
    return type("VisitProtocol", (_VisitProtocol,), {"plane": plane})


class _VisitProtocol(HttpToolsProtocol):
    plane: Plane

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_ours = False  # the message being parsed has been answered here
        self.is_in_head = False
        self.head_size = 0
        self.answers: list[bytes] = []  # waiting for their visits to be spooled
        self.active_at = time.monotonic()
        self.peer = b""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.peer = self.client[0].encode() if self.client else b""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_in_head:
            self._bound_head(len(data))

    # Parser callbacks

    def on_message_begin(self) -> None:
        # uvicorn makes the ASGI scope here; ours waits until it is known to be needed
        self.url = b""
        self.headers = []
        self.is_ours = False
        self.is_in_head = True
        self.head_size = -1  # begins somewhere in this piece of data

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self.is_in_head = False
        if (self.cycle is None or self.cycle.response_complete) and not self.pipeline and self._answer():
            self.is_ours = True
        else:
            self._go_on_as_uvicorn()

    def on_body(self, body: bytes) -> None:
        if not self.is_ours:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self.is_ours:
            super().on_message_complete()

    # Back-pressure: a client that sends and does not read is not read from

    def pause_writing(self) -> None:
        super().pause_writing()
        self.flow.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.pipeline:
            self.flow.resume_reading()

    def send_400_response(self, msg: str) -> None:
        self.plane.send()
        super().send_400_response(msg)

    def shutdown(self) -> None:
        self.plane.send()
        super().shutdown()

    def close_if_idle_since(self, before: float) -> None:
        """Fast answers arm no timer, which would cost as much as the answer; the plane looks around once a second."""
        if self.active_at < before and (self.cycle is None or self.cycle.response_complete) and not self.pipeline:
            self.transport.close()

    def _answer(self) -> bool:
        """Whether the request is an ordinary visit; if so its answer and its spool line are ready to be sent."""
        method = self.parser.get_method()
        if method != b"GET" and method != b"HEAD":  # noqa: PLR1714  # half the time of a tuple look-up
            return False
        path, _, query = self.url.partition(b"?")
        segment = path[1:]
        if b"/" in segment:
            return False
        route = self.plane.table.find(segment)
        headers = dict(self.headers)
        if route is None or not self._is_ordinary(headers):
            return False
        host = headers.get(b"host", b"")
        now_ns = time.time_ns()
        if self.plane.leads_nowhere(route, host, now_ns / 1e9):
            return self._answer_missing(segment, host, method)
        if method == b"GET":
            self.plane.visits.append(self.plane.line(route, now_ns, query, self.peer, headers))
        self._will_send(self.plane.heads(self.server_state.default_headers)[0] + route[1] + b"\r\n\r\n")
        return True

    def _is_ordinary(self, headers: dict[bytes, bytes]) -> bool:
        return (
            headers.keys().isdisjoint(_UNUSUAL)
            and len(headers) == len(self.headers)  # a header sent twice is for the application to judge
            and self.parser.should_keep_alive()
            and (b"connection" not in headers or self.parser.get_http_version() == "1.1")
        )

    def _answer_missing(self, segment: bytes, host: bytes, method: bytes) -> bool:
        """Only on the shared host: another may be a custom domain with a page of its own."""
        if host != self.plane.shared_host or not _SLUG.fullmatch(segment) or self.plane.is_app(segment, host):
            return False
        head = self.plane.heads(self.server_state.default_headers)[1]
        self._will_send(head if method == b"HEAD" else head + NOT_FOUND_PAGE)
        return True

    def _will_send(self, answer: bytes) -> None:
        if not self.answers:
            self.plane.will_send(self)
        self.answers.append(answer)

    def send(self) -> None:
        """Called by the plane once the visits behind these answers are in the spool."""
        self.transport.write(self.answers[0] if len(self.answers) == 1 else b"".join(self.answers))
        self.server_state.total_requests += len(self.answers)
        self.answers.clear()
        self.active_at = time.monotonic()

    def _go_on_as_uvicorn(self) -> None:
        if self.answers:
            self.plane.send()  # in order, also when the application answers at once
        url, headers = self.url, self.headers
        super().on_message_begin()
        self.url = url
        self.scope["headers"] = self.headers = headers
        self.expect_100_continue = any(n == b"expect" and v.lower() == b"100-continue" for n, v in headers)
        super().on_headers_complete()

    def _bound_head(self, size: int) -> None:
        """Uvicorn would collect a head without end. The piece a head begins in is not counted: it is bounded too."""
        if self.head_size < 0:
            self.head_size = 0
            return
        self.head_size += size
        if self.head_size > _HEAD_LIMIT and not self.transport.is_closing():
            self.plane.send()
            self.transport.write(_TOO_LONG)
            self.transport.close()
