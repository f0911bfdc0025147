"""The ASGI entry point. Responds to visits that the protocol passes on, and passes all else to the application.

Bots get here and receive a page with the link's title. A plus after a link's address shows where it leads. Hosts that
only serve links never reach the application. A slug on an unknown host gets an empty 404.
"""

import time
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.kit.errors import Unavailable
from waypost.metrics import Series
from waypost.redirect import decision, metrics, pages, password_pages, pixel_pages, report_pages
from waypost.redirect.asgi_messages import (
    canonical_host,
    join_headers,
    peer_of,
    respond_unavailable,
    send_response,
    with_headers,
    without_port,
)
from waypost.redirect.database_calls import DatabaseCalls, FindPage
from waypost.redirect.decision import Checks, VisitAnswer, decide_visit, has_ended, not_found
from waypost.redirect.forms import is_from_other_site
from waypost.redirect.not_found import NotFoundResponder
from waypost.redirect.password_pages import Cookies
from waypost.redirect.pixel_pages import FIRED
from waypost.redirect.reports import respond_to_report
from waypost.redirect.request import VisitRequest, read_request
from waypost.redirect.route import MISSING, Route, host_of, link_of, location_of, options_of
from waypost.redirect.route_options import RouteOptions
from waypost.redirect.state import NOSNIFF, REDIRECT_HEADERS, RedirectState

IsHttps = Callable[[Scope], bool]
"""Return whether the visitor uses HTTPS, as far as trusted proxies report it."""


_METHODS = {"GET", "HEAD"}
_ACME_CHALLENGES = b"/.well-known/acme-challenge/"
"""Served on every host: a certificate authority requests them before the domain is served."""
_INFO_SUFFIX = b"+"
_NO_VISIT = b"0" * 32
"""The visit id in a response to HEAD, which is not a visit."""
_ALL_PASSED = Checks(has_password=True, is_used_up=False)


class RedirectApp:
    """Serves a request as a visit or passes it to the application, by its host and its first path segment."""

    def __init__(
        self,
        state: RedirectState,
        app: ASGIApp,
        database: DatabaseCalls,
        is_https: IsHttps = lambda _: False,
        cookies: Cookies | None = None,
    ) -> None:
        """`cookies`: of protected links."""
        self.state = state
        self.app = app
        self._database = database
        self._is_https = is_https
        self._cookies = cookies or Cookies([])
        self._not_found = NotFoundResponder(state, database)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = join_headers(scope["headers"])
        host = canonical_host(headers.get(b"host", b""), scope["scheme"])
        host = without_port(host, self.state.own_hosts)
        is_own = host in self.state.own_hosts
        send = with_headers(send, [NOSNIFF, *(self.state.hsts if is_own and self._is_https(scope) else ())])
        if scope["raw_path"].startswith(_ACME_CHALLENGES):
            await (self.app(scope, receive, send) if scope["method"] == "GET" else send_response(send, 404, []))
            return
        path = unquote_to_bytes(scope["raw_path"])[1:]
        if self.state.is_app(path.partition(b"/")[0], host):
            await self.app(scope, receive, send)
        elif scope["method"] not in (*_METHODS, "POST"):
            await send_response(send, 405, [(b"allow", b"GET, HEAD")])
        else:
            try:
                await self._respond(scope, receive, send, host, path, headers)
            except Unavailable:
                await respond_unavailable(send)

    async def _respond(
        self, scope: Scope, receive: Receive, send: Send, host: bytes, path: bytes, headers: dict[bytes, bytes]
    ) -> None:
        """Raises Unavailable before it sends anything."""
        if scope["method"] == "POST":
            await self._post(scope, receive, send, host, path, headers)
            return
        began = time.perf_counter()
        try:
            await self._visit(scope, send, host, path, headers)
        finally:
            metrics.LATENCY.observe(time.perf_counter() - began)

    async def _visit(self, scope: Scope, send: Send, host: bytes, path: bytes, headers: dict[bytes, bytes]) -> None:
        is_get = scope["method"] == "GET"
        route = await self._load_route(host, path)
        info_page = await self._find_info_page(host, path) if route is MISSING else None
        if info_page:
            metrics.INFO_PAGE[0] += 1
            await send_response(send, 200, report_pages.HEADERS, info_page, with_body=is_get)
            return
        request = self._read_request(scope, headers)
        answer = await self._decide(route, request, headers)
        preview = await self._find_preview(route) if answer.kind == decision.PREVIEW else b""
        if preview is None:
            answer = decision.NO_LINK
        if is_get and answer.is_visit:
            page = metrics.PREVIEW if preview else metrics.PIXEL_PAGE if answer.pixel_page else None
            fired = answer.pixel_page[FIRED] if answer.pixel_page else b""
            visit = await self._record(route, request, answer.target, fired, page)
            if visit is None:
                answer = not_found(route)
        else:
            visit = _NO_VISIT
        if answer.kind == decision.NOT_FOUND:
            await self._not_found.respond(send, host, path, headers, answer.location, with_body=is_get)
        elif answer.kind == decision.PASSWORD_FORM:
            metrics.PASSWORD_PAGE[0] += 1
            await send_response(send, 200, password_pages.HEADERS, password_pages.page(), with_body=is_get)
        elif preview:
            await send_response(send, 200, pages.PREVIEW_HEADERS, preview, with_body=is_get)
        elif answer.pixel_page and visit:
            nonce = next(self.state.nonces)
            body = pixel_pages.page(answer.pixel_page, nonce, visit)
            await send_response(send, 200, pixel_pages.headers(answer.pixel_page, nonce), body, with_body=is_get)
        else:
            location = answer.location or location_of(route)
            await send_response(send, 302, [*REDIRECT_HEADERS, (b"location", location)])

    async def _post(
        self, scope: Scope, receive: Receive, send: Send, host: bytes, path: bytes, headers: dict[bytes, bytes]
    ) -> None:
        """Check the password of a protected link, and redirect if it is right. That is the visit."""
        route = await self._load_route(host, path)
        if route is MISSING and (reported := await self._find_info_route(host, path)):
            await respond_to_report(self._database, scope, receive, send, headers, link_of(reported))
            return
        options = options_of(route)
        if options is None or options.password_version is None:
            await send_response(send, 405, [(b"allow", b"GET, HEAD")])
            return
        request = self._read_request(scope, {**headers, b"referer": b""})  # it names the form
        answer = await self._decide(route, request, headers, _ALL_PASSED)
        if answer.kind == decision.NOT_FOUND:  # since the form was opened
            await self._not_found.respond(send, host, path, headers, answer.location, with_body=True)
            return
        link = link_of(route)
        is_foreign = is_from_other_site(headers)  # visitors of a hostile page would guess, and collect cookies
        version = password_pages.OTHER_SITE if is_foreign else await self._database.check_password(scope, receive, link)
        if isinstance(version, str):
            metrics.PASSWORD_PAGE[0] += 1
            status = 403 if is_foreign else 200
            await send_response(send, status, password_pages.HEADERS, password_pages.page(version))
            return
        route = await self._load_route(host, path)  # it may have changed while the form was sent
        answer = await self._decide(route, request, headers, _ALL_PASSED)
        if link_of(route) != link or not answer.is_visit:
            await self._not_found.respond(send, host, path, headers, not_found(route).location, with_body=True)
            return
        if await self._record(route, request, answer.target, b"", None) is None:
            await self._not_found.respond(send, host, path, headers, not_found(route).location, with_body=True)
            return
        cookies = self._cookies.new(
            link,
            version,
            self.state.now,
            path=scope["raw_path"],
            header=headers.get(b"cookie", b""),
            is_https=self._is_https(scope),
        )
        set_cookies = [(b"set-cookie", cookie) for cookie in cookies]
        location = answer.location or location_of(route)
        await send_response(send, 303, [*REDIRECT_HEADERS, (b"location", location), *set_cookies])

    def _read_request(self, scope: Scope, headers: dict[bytes, bytes]) -> VisitRequest:
        request = read_request(headers, scope["query_string"], peer_of(scope), self.state.visitors)
        request.is_bot = self.state.bots[request.user_agent]
        return request

    async def _decide(
        self, route: Route, request: VisitRequest, headers: dict[bytes, bytes], checks: Checks | None = None
    ) -> VisitAnswer:
        """Load what the decision needs. Raises Unavailable."""
        request.at = self._begin_batch()
        answer = decide_visit(route, request, checks)
        options = options_of(route)
        if answer.kind == decision.UNDECIDED and options:
            if options.routing:
                await request.visitors().load(options.routing)
            checks = checks or await self._check(route, options, headers)
            request.at = self._begin_batch()
            answer = decide_visit(route, request, checks)
        return answer

    async def _check(self, route: Route, options: RouteOptions, headers: dict[bytes, bytes]) -> Checks:
        """Raises Unavailable."""
        version = options.password_version
        is_used_up = await self._is_used_up(route)
        has_password = version is None or self._cookies.is_valid(
            headers.get(b"cookie", b""), link_of(route), version, self.state.now
        )
        return Checks(has_password, is_used_up)

    async def _is_used_up(self, route: Route) -> bool:
        """Return whether the link has reached its click limit. Raises Unavailable."""
        options = options_of(route)
        if options is None or options.click_limit is None:
            return False
        return await self.state.click_limits.is_used_up(link_of(route), options.click_limit)

    async def _load_route(self, host: bytes, path: bytes) -> Route:
        """Return the route of the link with this slug or alias on the host, or MISSING. Raises Unavailable."""
        route = await self.state.table.load(path)
        if host_of(route) == host:
            return route
        return MISSING if host in self.state.own_hosts else await self.state.aliases.load_link(host, path)

    def _begin_batch(self) -> float:
        """Return the time."""
        if not self.state.waiting_connections:
            self.state.begin_batch()
        return self.state.now

    async def _find_info_page(self, host: bytes, path: bytes) -> bytes | None:
        """Return the page about the link at the path before the plus, which is not a visit. None if it is not found.

        Raises Unavailable.
        """
        route = await self._find_info_route(host, path)
        if route is None:
            return None
        options = options_of(route)
        is_early = options is not None and self.state.now < options.starts_at
        key = (b"-" if is_early else b"+") + link_of(route)
        return await self._find_page(key, route, self._database.info_page)

    async def _find_info_route(self, host: bytes, path: bytes) -> Route | None:
        """Return the route of the link at the path before the plus, if it has a page. Raises Unavailable."""
        if not path.endswith(_INFO_SUFFIX):
            return None
        route = await self._load_route(host, path.removesuffix(_INFO_SUFFIX))
        is_missing = has_ended(route, self._begin_batch()) or await self._is_used_up(route)
        return None if is_missing else route

    async def _find_preview(self, route: Route) -> bytes | None:
        """Return the page for a bot. Empty if it is not available, and the bot is redirected.

        None if the link is gone although its route is still cached.
        """
        try:
            return await self._find_page(link_of(route), route, self._database.preview)
        except Unavailable:
            return b""

    async def _find_page(self, key: bytes, route: Route, load: FindPage) -> bytes | None:
        page = self.state.pages.find(key, route)
        if page is None:
            page = await load(link_of(route))
            if page:
                self.state.pages.keep(key, route, page)
        return page

    async def _record(
        self, route: Route, request: VisitRequest, target: str, fired: bytes, page: Series | None
    ) -> bytes | None:
        """Record the visit and return its id. None if it is a click beyond the limit of the link. Raises Unavailable.

        `page`: what counts the page that the visit gets. None for a redirect, which `flush` counts.
        """
        options, link = options_of(route), link_of(route)

        def write() -> bytes:
            self._begin_batch()  # the last one may have ended while a page was loaded
            if page:
                page[0] += 1
                self.state.pages_in_batch += 1
            visit = self.state.record(link, request, fired, target)
            self.state.flush()
            return visit

        if options is None or options.click_limit is None or not request.is_click:
            return write()
        return await self.state.click_limits.take(link, options.click_limit, write)
