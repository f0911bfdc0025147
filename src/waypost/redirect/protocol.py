"""Responds to visits inside the HTTP protocol, and passes everything else unchanged to uvicorn and the application.

An ordinary GET of a route in memory gets its response where its bytes arrive: no task, no scope, no ASGI message. Every
other request is passed on: bots, bodies, upgrades, HTTP/1.0, `Expect`, repeated headers, encoded paths, several
requests or part of one in a read, and requests while a response on the connection is in progress.
"""

import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from waypost.redirect import metrics, pixel_pages
from waypost.redirect.bounded import BoundedProtocol
from waypost.redirect.connections import Connections
from waypost.redirect.pixel_pages import FIRED, PixelPage
from waypost.redirect.route import (
    EXPIRES_AT,
    HOST,
    LINK_ID,
    LOCATION,
    MISSING,
    PIXEL_PAGE,
    ROUTED,
    SLUG,
    TARGET,
    Route,
)
from waypost.redirect.routing.routed import Routed
from waypost.redirect.state import RedirectState
from waypost.redirect.visit_headers import USER_AGENT, VisitHeaders


def protocol_for(state: RedirectState, connections: Connections) -> type[HttpToolsProtocol]:
    """Return the protocol class for `uvicorn.Config(http=…)`, which makes one instance per connection."""
    return type("VisitProtocol", (_VisitProtocol,), {"state": state, "client_connections": connections})


class _VisitProtocol(BoundedProtocol):
    state: RedirectState

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.responses = b""  # sent once their visits are in the spool

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.state.refresh_headers(self.server_state.default_headers)

    def data_received(self, data: bytes) -> None:
        is_free = (  # inlined: this runs for every visit, and a call takes as long as all of it
            (self.cycle is None or self.cycle.response_complete)
            and not (self.is_in_message or self.pipeline or self.flow.write_paused)
        )
        if is_free and data[:5] == b"GET /" and data[-4:] == b"\r\n\r\n" and self._respond(data):
            self.active_at = time.monotonic()
            return
        if self.responses:
            self.state.flush()  # in order, even if uvicorn responds immediately
        super().data_received(data)

    def shutdown(self) -> None:
        self.state.flush()
        super().shutdown()

    def send_responses(self) -> None:
        """Called once the visits of these responses are in the spool."""
        responses, self.responses = self.responses, b""
        self.transport.write(responses)

    def _respond(self, data: bytes) -> bool:
        """Queue the response and the spool line of an ordinary visit. Return False for any other request."""
        state = self.state
        end = data.find(b" ", 5)
        slug, _, query = data[5:end].partition(b"?")
        if data[end : end + 11] != b" HTTP/1.1\r\n":
            return False
        route = MISSING if b"/" in slug else state.table.find(slug)
        headers = state.header_reader.read(data) if route else None
        if route is None or headers is None:
            return False
        if not state.waiting_connections:
            state.begin_batch()
        if state.is_missing(route, headers[0]):
            is_slug = headers[0] == state.shared_host or route[HOST] == headers[0]
            alias = None if is_slug else state.aliases.find_link(headers[0], slug)
            if alias is None or state.now >= alias[EXPIRES_AT]:
                return not (alias or route)[ROUTED] and self._respond_missing(slug, headers[0])
            route = alias
        if state.bots[headers[USER_AGENT]]:
            return False
        if route[ROUTED]:
            return self._respond_routed(route, route[ROUTED], query, headers)
        pixel_page = route[PIXEL_PAGE]
        if pixel_page and pixel_pages.may_fire(headers):
            self._respond_with_pixels(route, pixel_page, query, headers)
        else:
            state.record(route, query, self.peer, headers)
            prefix = state.shared_redirect_prefix if headers[0] == state.shared_host else state.redirect_prefix
            self._respond_later(prefix + route[1][LOCATION] + b"\r\n\r\n")
        return True

    def _respond_routed(self, route: Route, routed: Routed, query: bytes, headers: VisitHeaders) -> bool:
        """Return False for a visit that needs more than what is in memory."""
        state, routing, target, location = self.state, routed.routing, "", None
        if state.now < routed.starts_at or routed.needs_check:
            return False
        if routing:
            visitors = state.visitors
            if not visitors.has_loaded(routing):
                return False
            target, location = visitors.decide(routing, route[TARGET][LINK_ID], self.peer, query, headers, state.now)
        pixel_page = routed.pixel_pages[location] if routed.pixel_pages and location else route[PIXEL_PAGE]
        if pixel_page and pixel_pages.may_fire(headers):
            visit = state.record_target(route, query, self.peer, headers, pixel_page[FIRED], target)
            self._send_pixel_page(pixel_page, visit, headers[0])
        else:
            state.record_target(route, query, self.peer, headers, b"", target)
            prefix = state.shared_redirect_prefix if headers[0] == state.shared_host else state.redirect_prefix
            self._respond_later(prefix + (location or route[TARGET][LOCATION]) + b"\r\n\r\n")
        return True

    def _respond_with_pixels(self, route: Route, pixel_page: PixelPage, query: bytes, headers: VisitHeaders) -> None:
        visit = self.state.record(route, query, self.peer, headers, pixel_page[FIRED])
        self._send_pixel_page(pixel_page, visit, headers[0])

    def _send_pixel_page(self, pixel_page: PixelPage, visit: bytes, host: bytes) -> None:
        state = self.state
        state.pages_in_batch += 1
        metrics.PIXEL_PAGE[0] += 1
        prefix = state.shared_pixel_page_prefix if host == state.shared_host else state.pixel_page_prefix
        self._respond_later(pixel_pages.response(prefix, pixel_page, next(state.nonces), visit))

    def _respond_missing(self, slug: bytes, host: bytes) -> bool:
        """Return False on other hosts than the shared one: a custom domain may redirect."""
        if host != self.state.shared_host or not SLUG.fullmatch(slug) or self.state.is_app(slug, host):
            return False
        metrics.NOT_FOUND[0] += 1
        self._respond_later(self.state.not_found)
        return True

    def _respond_later(self, response: bytes) -> None:
        if self.timeout_keep_alive_task is not None:
            self._unset_keepalive_if_required()
        if not self.responses:
            self.state.flush_later(self)
        self.responses = self.responses + response if self.responses else response
        self.server_state.total_requests += 1
