"""Responds to the visits of one connection: reads a request, finds its route, and queues line and response.

All code that each visit needs is here and in the modules it imports, so that mypyc can compile it (ADR 1).
"""

from collections.abc import Callable
from typing import Final

from waypost.redirect import metrics, pixel_pages
from waypost.redirect.decision import (
    OWN_DESTINATION,
    PIXEL_PAGE,
    PREVIEW,
    REDIRECT,
    VisitAnswer,
    decide_visit,
    has_ended,
)
from waypost.redirect.pixel_pages import FIRED
from waypost.redirect.request import RequestReader
from waypost.redirect.route import DISABLED, ID_SIZE, MISSING, SLUG, Route
from waypost.redirect.state import RedirectState, WaitingResponses, with_page

_SLASH: Final = 0x2F
_QUESTION_MARK: Final = 0x3F
_PLUS: Final = 0x2B
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

    def respond(self, data: bytes) -> bool:  # each call would take a tenth of it without mypyc
        """Queue the response, and the spool line of a visit. Return False for what memory cannot answer."""
        if not (data.startswith(b"GET /") and data.endswith(b"\r\n\r\n")):
            return False
        state = self._state
        request = state.request
        if not request.read(data):
            return False
        slug, request.query = request.url[1:], b""
        if _QUESTION_MARK in slug:
            slug, _, request.query = slug.partition(b"?")
        route = MISSING if _SLASH in slug else state.table.find(slug)
        if route is None:
            return False
        if not state.waiting_connections:
            state.begin_batch()
        host, id_and_location, expires_at, _, _, _ = route
        if host != request.host or state.now >= expires_at:
            other = route if host == request.host else self._find_other(slug, request.host)
            if other is None or has_ended(other, state.now):
                return other is not None and self._respond_without_link(other, slug, request)
            _, id_and_location, _, _, _, _ = route = other
        request.at = state.now
        request.peer = self.peer
        request.is_bot = state.bots[request.user_agent]
        answer = decide_visit(route, request)
        if answer is OWN_DESTINATION:
            state.record(id_and_location[:ID_SIZE], request)
            heads = state.shared_heads if request.host == state.shared_host else state.heads
            self._respond_later(heads.redirect + id_and_location[ID_SIZE:] + b"\r\n\r\n")
        elif not self._respond_otherwise(route, request, answer):
            return False
        self.active_at = state.monotonic_now
        return True

    def _find_other(self, path: bytes, host: bytes) -> Route | None:
        """Return the route by alias or near address, MISSING, or None if it is not in memory. The path is no slug."""
        state = self._state
        if host != state.shared_host:
            route = state.aliases.find_link(host, path)
            if route is not MISSING:
                return route
        route = state.near.find_link(host, path)
        is_link = route is not None and route is not MISSING
        return None if is_link and state.is_app(path.partition(b"/")[0], host) else route

    def _respond_otherwise(self, route: Route, request: RequestReader, answer: VisitAnswer) -> bool:
        """Return False for a visit that needs more than what is in memory."""
        state = self._state
        heads = state.shared_heads if request.host == state.shared_host else state.heads
        _, id_and_location, _, _, _, _ = route
        link, kind, pixel_page = id_and_location[:ID_SIZE], answer.kind, answer.pixel_page
        if kind == REDIRECT:
            state.record(link, request, b"", answer.target)
            self._respond_later(heads.redirect + (answer.location or id_and_location[ID_SIZE:]) + b"\r\n\r\n")
        elif kind == PIXEL_PAGE and pixel_page is not None:
            visit = state.record(link, request, pixel_page[FIRED], answer.target)
            state.pages_in_batch += 1
            metrics.PIXEL_PAGE[0] += 1
            self._respond_later(pixel_pages.response(heads.pixel_page, pixel_page, next(state.nonces), visit))
        elif kind == PREVIEW:
            page = state.pages.find(link, route)
            if page is None:
                return False
            state.record(link, request, b"", answer.target)
            state.pages_in_batch += 1
            metrics.PREVIEW[0] += 1
            self._respond_later(with_page(heads.preview, page))
        else:
            return False
        return True

    def _respond_without_link(self, route: Route, path: bytes, request: RequestReader) -> bool:
        """Return False for a link with a fallback, and on other hosts: a custom domain may redirect."""
        state = self._state
        _, _, expires_at, _, _, options = route
        if options is not None or request.host != state.shared_host:
            return False
        if path and path[-1] == _PLUS:
            return self._respond_with_info_page(path[:-1], request)
        if not SLUG.fullmatch(path) or state.is_app(path, request.host):
            return False
        if route is MISSING and state.is_person(request.user_agent):
            state.missed.note(request.host, path)
        metrics.NOT_FOUND[0] += 1
        heads = state.shared_heads
        self._respond_later(heads.not_found if expires_at == DISABLED else heads.expired)
        self.active_at = state.monotonic_now
        return True

    def _respond_with_info_page(self, slug: bytes, request: RequestReader) -> bool:
        state = self._state
        route = state.table.find(slug)
        if route is None:
            return False
        host, id_and_location, expires_at, _, _, options = route
        if host != request.host or state.now >= expires_at or options is not None:
            return False
        page = state.pages.find(b"+" + id_and_location[:ID_SIZE], route)
        if page is None:
            return False
        metrics.INFO_PAGE[0] += 1
        self._respond_later(with_page(state.shared_heads.info_page, page))
        self.active_at = state.monotonic_now
        return True

    def _respond_later(self, response: bytes) -> None:
        if self.responses:
            self.responses += response
        else:
            self.responses = response
            self._state.flush_later(self)
