"""Responds to the visits of one connection: reads a request, finds its route, and queues line and response.

All code that each visit needs is here and in the modules it imports, so that mypyc can compile it (ADR 1).
"""

from collections.abc import Callable
from typing import Final

from waypost.redirect import metrics, pixel_pages
from waypost.redirect.pixel_pages import FIRED, PixelPage
from waypost.redirect.request import HOST as HOST_HEADER
from waypost.redirect.request import USER_AGENT, VisitHeaders
from waypost.redirect.route import EXPIRES_AT, HOST, ID_SIZE, MISSING, PIXEL_PAGE, ROUTED, SLUG, TARGET, Route
from waypost.redirect.route_options import Routed
from waypost.redirect.state import RedirectState, WaitingResponses

_SLASH: Final = 0x2F
_QUESTION_MARK: Final = 0x3F
"""Numbers: looking for bytes in bytes first makes and drops an exception, which takes longer than the search."""


class VisitResponder(WaitingResponses):
    def __init__(self, state: RedirectState, receive_other: Callable[[bytes], object]) -> None:
        """`receive_other`: takes the data of all other requests."""
        super().__init__()
        self.has_only_visits = True
        """Whether every request of the connection was answered here, and its client reads the responses."""
        self.receive_other = receive_other
        self.peer = b""
        self.active_at = 0.0
        """See `ClientConnection`."""
        self._state = state

    def receive(self, data: bytes) -> None:
        if not (self.has_only_visits and self.respond(data)):
            self.receive_other(data)

    def respond(self, data: bytes) -> bool:  # noqa: C901, PLR0911  # each call would take a tenth of it without mypyc
        """Queue the response and the spool line of an ordinary visit. Return False for any other request."""
        if not (data.startswith(b"GET /") and data.endswith(b"\r\n\r\n")):
            return False
        state = self._state
        headers = state.header_reader.read(data)
        if headers is None:
            return False
        slug, query = state.header_reader.url[1:], b""
        if _QUESTION_MARK in slug:
            slug, _, query = slug.partition(b"?")
        route = MISSING if _SLASH in slug else state.table.find(slug)
        if route is None:
            return False
        if not state.waiting_connections:
            state.begin_batch()
        host = headers[HOST_HEADER]
        if route is MISSING or route[HOST] != host or state.now >= route[EXPIRES_AT]:
            is_slug = host == state.shared_host or route[HOST] == host
            alias = None if is_slug else state.aliases.find_link(host, slug)
            if alias is None or state.now >= alias[EXPIRES_AT]:
                return not (alias or route)[ROUTED] and self._respond_missing(slug, host)
            route = alias
        if state.bots[headers[USER_AGENT]]:
            return False
        routed, pixel_page = route[ROUTED], route[PIXEL_PAGE]
        if routed is not None:
            return self._respond_routed(route, routed, query, headers)
        if pixel_page is not None and pixel_pages.may_fire(headers):
            self._send_pixel_page(route, pixel_page, query, headers, "")
        else:
            state.record_redirect(route, query, self.peer, headers)
            prefix = state.shared_redirect_prefix if host == state.shared_host else state.redirect_prefix
            self._respond_later(prefix + route[TARGET][ID_SIZE:] + b"\r\n\r\n")
        self.active_at = state.monotonic_now
        return True

    def _respond_routed(self, route: Route, routed: Routed, query: bytes, headers: VisitHeaders) -> bool:
        """Return False for a visit that needs more than what is in memory."""
        state, routing, target, location = self._state, routed.routing, "", None
        if state.now < routed.starts_at or routed.needs_check:
            return False
        if routing:
            visitors = state.visitors
            if not visitors.has_loaded(routing):
                return False
            target, location = visitors.decide(routing, route[TARGET][:ID_SIZE], self.peer, query, headers, state.now)
        pixel_page = routed.pixel_pages[location] if routed.pixel_pages and location else route[PIXEL_PAGE]
        if pixel_page is not None and pixel_pages.may_fire(headers):
            self._send_pixel_page(route, pixel_page, query, headers, target)
        else:
            state.record(route, query, self.peer, headers, b"", target)
            is_shared = headers[HOST_HEADER] == state.shared_host
            prefix = state.shared_redirect_prefix if is_shared else state.redirect_prefix
            self._respond_later(prefix + (location or route[TARGET][ID_SIZE:]) + b"\r\n\r\n")
        self.active_at = state.monotonic_now
        return True

    def _send_pixel_page(
        self, route: Route, pixel_page: PixelPage, query: bytes, headers: VisitHeaders, target: str
    ) -> None:
        state = self._state
        visit = state.record(route, query, self.peer, headers, pixel_page[FIRED], target)
        state.pages_in_batch += 1
        metrics.PIXEL_PAGE[0] += 1
        is_shared = headers[HOST_HEADER] == state.shared_host
        prefix = state.shared_pixel_page_prefix if is_shared else state.pixel_page_prefix
        self._respond_later(pixel_pages.response(prefix, pixel_page, next(state.nonces), visit))

    def _respond_missing(self, slug: bytes, host: bytes) -> bool:
        """Return False on other hosts than the shared one: a custom domain may redirect."""
        state = self._state
        if host != state.shared_host or not SLUG.fullmatch(slug) or state.is_app(slug, host):
            return False
        metrics.NOT_FOUND[0] += 1
        self._respond_later(state.not_found)
        self.active_at = state.monotonic_now
        return True

    def _respond_later(self, response: bytes) -> None:
        if self.responses:
            self.responses += response
        else:
            self.responses = response
            self._state.flush_later(self)
