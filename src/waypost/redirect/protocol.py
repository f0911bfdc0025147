"""Visits answered inside the HTTP protocol; everything else goes on to uvicorn and the ASGI application untouched.

An ordinary GET of a route in memory is answered where its bytes arrive: no task, no scope, no ASGI message. Whatever is
unusual about a request (a robot, a body, an upgrade, HTTP/1.0, `Expect`, a doubled header, an encoded path, several
requests or only a part of one at a time, another answer still in progress on the connection) makes it not ours.
"""

import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from waypost.redirect import firing
from waypost.redirect.firing import FIRED, Tags
from waypost.redirect.head import USER_AGENT, Head
from waypost.redirect.plane import Plane
from waypost.redirect.route import LOCATION, SLUG, TAGS, Route

_HEAD_LIMIT = 64 << 10
_PIPELINED_AT_MOST = 1_000
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class TooManyAtOnce(Exception):
    """More requests were sent ahead than anybody needs, each of which takes memory until its turn."""


def protocol_for(plane: Plane) -> type[HttpToolsProtocol]:
    """The protocol class that uvicorn makes one of per connection: `uvicorn.Config(http=protocol_for(plane))`."""
    return type("VisitProtocol", (_VisitProtocol,), {"plane": plane})


class _VisitProtocol(HttpToolsProtocol):
    plane: Plane

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_in_message = False  # uvicorn's parser has a part of a request and waits for more
        self.is_in_head = False
        self.head_size = 0
        self.answers = b""  # waiting for their visits to be spooled
        self.active_at = time.monotonic()
        self.peer = b""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.plane.tell_date(self.server_state.default_headers)
        self.peer = self.client[0].encode() if self.client else b""

    def data_received(self, data: bytes) -> None:
        if not self.is_in_head:  # a head must be whole within the idle time, however it trickles in
            self.active_at = time.monotonic()
        is_free = (  # spelt out: this runs for every visit, and a call takes as long as all of it
            (self.cycle is None or self.cycle.response_complete)
            and not (self.is_in_message or self.pipeline or self.flow.write_paused)
        )
        if is_free and data[:5] == b"GET /" and data[-4:] == b"\r\n\r\n" and self._answer(data):
            return
        if self.answers:
            self.plane.send()  # in order, also when uvicorn answers at once
        super().data_received(data)
        if self.is_in_head:
            self._bound_head(len(data))

    # What uvicorn's parser reports, and its answers

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= _PIPELINED_AT_MOST:
            raise TooManyAtOnce  # httptools makes a parser error of it: uvicorn answers 400 and closes
        self.is_in_message = self.is_in_head = True
        self.head_size = -1  # begins somewhere in this piece of data
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.is_in_head:  # trailers come here too, and uvicorn would keep them without end
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self.is_in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self.is_in_message = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self.active_at = time.monotonic()
        super().on_response_complete()
        if self.pipeline or self.flow.write_paused:  # uvicorn has just resumed reading
            self.flow.pause_reading()

    # Back-pressure: a client that sends and does not read is not read from

    def pause_writing(self) -> None:
        super().pause_writing()
        self.flow.pause_reading()

    def resume_writing(self) -> None:
        self.active_at = time.monotonic()
        super().resume_writing()
        if not self.pipeline:
            self.flow.resume_reading()

    def shutdown(self) -> None:
        self.plane.send()
        super().shutdown()

    def send(self) -> None:
        """Called by the plane once the visits behind these answers are in the spool."""
        answers, self.answers = self.answers, b""
        self.transport.write(answers)

    def close_if_idle_since(self, before: float) -> None:
        """Fast answers arm no timer, which would cost as much as the answer; the plane looks around once a second."""
        if self.active_at >= before:
            return
        if self.transport.is_closing() or self.flow.write_paused:
            self.transport.abort()  # it reads nothing: closing would wait for it
        elif (self.cycle is None or self.cycle.response_complete) and not self.pipeline:
            self.transport.close()

    def _answer(self, data: bytes) -> bool:
        """Whether it is one ordinary visit; if so its answer and its spool line are ready to be sent."""
        plane = self.plane
        end = data.find(b" ", 5)
        slug, _, query = data[5:end].partition(b"?")
        if b"/" in slug or data[end : end + 11] != b" HTTP/1.1\r\n":
            return False
        route = plane.table.find(slug)
        head = plane.head_reader.read(data) if route else None
        if route is None or head is None:
            return False
        if not plane.senders:
            plane.begin_round()
        if plane.leads_nowhere(route, head[0]):
            return self._answer_missing(slug, head[0])
        if plane.robots[head[USER_AGENT]]:
            return False
        tags = route[TAGS]
        if tags and firing.is_wanted(head):
            self._answer_with_tags(route, tags, query, head)
            return True
        plane.record(route, query, self.peer, head)
        self._will_send(plane.redirect_head + route[1][LOCATION] + b"\r\n\r\n")
        return True

    def _answer_with_tags(self, route: Route, tags: Tags, query: bytes, head: Head) -> None:
        plane = self.plane
        visit = plane.record(route, query, self.peer, head, tags[FIRED])
        self._will_send(firing.answer(plane.firing_head, tags, next(plane.nonces), visit))

    def _answer_missing(self, slug: bytes, host: bytes) -> bool:
        """Only on the shared host: another may be a custom domain with a page of its own."""
        if host != self.plane.shared_host or not SLUG.fullmatch(slug) or self.plane.is_app(slug, host):
            return False
        self._will_send(self.plane.not_found)
        return True

    def _will_send(self, answer: bytes) -> None:
        if self.timeout_keep_alive_task is not None:
            self._unset_keepalive_if_required()
        if not self.answers:
            self.plane.will_send(self)
        self.answers = self.answers + answer if self.answers else answer
        self.server_state.total_requests += 1

    def _bound_head(self, size: int) -> None:
        """Uvicorn would collect a head without end. The piece a head begins in is not counted: it is bounded too."""
        if self.head_size < 0:
            self.head_size = 0
            return
        self.head_size += size
        if self.head_size > _HEAD_LIMIT and not self.transport.is_closing():
            self.transport.write(_TOO_LONG)
            self.transport.close()
