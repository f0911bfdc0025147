"""Answers visits inside the HTTP protocol and passes everything else to uvicorn and the ASGI application unchanged.

An ordinary GET of a route in memory is answered where its bytes arrive: no task, no scope, no ASGI message. Passed on
is anything unusual: a bot, a body, an upgrade, HTTP/1.0, `Expect`, a repeated header, an encoded path, several requests
or part of one in a read, an answer still in progress on the connection.
"""

import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from waypost.redirect import pixel_pages
from waypost.redirect.bounded import BoundedProtocol
from waypost.redirect.connections import Connections
from waypost.redirect.head import USER_AGENT, Head
from waypost.redirect.pixel_pages import FIRED, PixelPage
from waypost.redirect.plane import Plane
from waypost.redirect.route import LOCATION, PIXEL_PAGE, SLUG, Route


def protocol_for(plane: Plane, guard: Connections) -> type[HttpToolsProtocol]:
    """The protocol class for `uvicorn.Config(http=…)`, which makes one instance per connection."""
    return type("VisitProtocol", (_VisitProtocol,), {"plane": plane, "guard": guard})


class _VisitProtocol(BoundedProtocol):
    plane: Plane

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.answers = b""  # held until their visits are in the spool

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.plane.refresh_headers(self.server_state.default_headers)

    def data_received(self, data: bytes) -> None:
        is_free = (  # inlined: this runs for every visit, and a call takes as long as all of it
            (self.cycle is None or self.cycle.response_complete)
            and not (self.is_in_message or self.pipeline or self.flow.write_paused)
        )
        if is_free and data[:5] == b"GET /" and data[-4:] == b"\r\n\r\n" and self._answer(data):
            self.active_at = time.monotonic()
            return
        if self.answers:
            self.plane.send()  # in order, also when uvicorn answers at once
        super().data_received(data)

    def shutdown(self) -> None:
        self.plane.send()
        super().shutdown()

    def send(self) -> None:
        """Called by the plane once the visits of these answers are in the spool."""
        answers, self.answers = self.answers, b""
        self.transport.write(answers)

    def _answer(self, data: bytes) -> bool:
        """Queues the answer and the spool line of an ordinary visit. False: the request is not one."""
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
        if plane.is_missing(route, head[0]):
            return self._answer_missing(slug, head[0])
        if plane.bots[head[USER_AGENT]]:
            return False
        pixel_page = route[PIXEL_PAGE]
        if pixel_page and pixel_pages.may_fire(head):
            self._answer_with_pixels(route, pixel_page, query, head)
            return True
        plane.record(route, query, self.peer, head)
        opening = plane.shared_redirect_head if head[0] == plane.shared_host else plane.redirect_head
        self._send_later(opening + route[1][LOCATION] + b"\r\n\r\n")
        return True

    def _answer_with_pixels(self, route: Route, pixel_page: PixelPage, query: bytes, head: Head) -> None:
        plane = self.plane
        visit = plane.record(route, query, self.peer, head, pixel_page[FIRED])
        opening = plane.shared_pixel_page_head if head[0] == plane.shared_host else plane.pixel_page_head
        self._send_later(pixel_pages.answer(opening, pixel_page, next(plane.nonces), visit))

    def _answer_missing(self, slug: bytes, host: bytes) -> bool:
        """On the shared host only: a custom domain may have its own page."""
        if host != self.plane.shared_host or not SLUG.fullmatch(slug) or self.plane.is_app(slug, host):
            return False
        self._send_later(self.plane.not_found)
        return True

    def _send_later(self, answer: bytes) -> None:
        if self.timeout_keep_alive_task is not None:
            self._unset_keepalive_if_required()
        if not self.answers:
            self.plane.send_later(self)
        self.answers = self.answers + answer if self.answers else answer
        self.server_state.total_requests += 1
