"""The ASGI entry point. Responds to visits that the protocol passes on, and passes all else to the application.

Bots get here and receive a page with the link's title. A plus after a link's address shows where it leads. Hosts that
only serve links never reach the application. A slug on an unknown host gets an empty 404.
"""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.kit.errors import RateLimited, Unavailable
from waypost.metrics import Series
from waypost.redirect import decision, metrics, pages, password_pages, pixel_pages, report_pages
from waypost.redirect.appearances import Appearances
from waypost.redirect.database_calls import DatabaseCalls
from waypost.redirect.decision import Checks, VisitAnswer, decide_visit, has_ended, not_found
from waypost.redirect.exchange import Exchange, with_headers
from waypost.redirect.forms import is_from_other_site
from waypost.redirect.forwarding import beginnings, is_forwardable
from waypost.redirect.near import query_of
from waypost.redirect.not_found import NotFoundResponder
from waypost.redirect.password_pages import Cookies
from waypost.redirect.pixel_pages import FIRED
from waypost.redirect.reports import respond_to_report
from waypost.redirect.request import VisitRequest, read_request
from waypost.redirect.route import MISSING, Route, forwards_path, host_of, link_of, location_of, options_of
from waypost.redirect.route_options import RouteOptions
from waypost.redirect.state import NOSNIFF, REDIRECT_HEADERS, RedirectState

IsHttps = Callable[[Scope], bool]
"""Return whether the visitor uses HTTPS, as far as trusted proxies report it."""


_ACME_CHALLENGES = b"/.well-known/acme-challenge/"
"""Served on every host: a certificate authority requests them before the domain is served."""
_INFO_SUFFIX = re.compile(rb"(?:\+|%2[Bb])\Z")
_NO_VISIT = b"0" * 32
"""The visit id in a response to HEAD, which is not a visit."""
_ALLOWED = [(b"allow", b"GET, HEAD")]
_RETRY_HEADERS = [(b"retry-after", b"1"), (b"cache-control", b"no-store")]
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
        self._database = database = database.limited()
        self._is_https = is_https
        self._cookies = cookies or Cookies([])
        self._appearances = Appearances(state, database)
        self._not_found = NotFoundResponder(state, database, self._appearances)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send, self.state.own_hosts)
        hsts = self.state.hsts if exchange.host in self.state.own_hosts and self._is_https(scope) else ()
        exchange.send = with_headers(send, [NOSNIFF, *hsts])
        path, method = unquote_to_bytes(exchange.sent), scope["method"]
        if scope["raw_path"].startswith(_ACME_CHALLENGES):
            await (self.app(scope, receive, exchange.send) if method == "GET" else exchange.respond(404))
        elif self.state.is_app(path.partition(b"/")[0], exchange.host):
            await self.app(scope, receive, exchange.send)
        elif method not in {"GET", "HEAD", "POST"}:
            await exchange.respond(405, _ALLOWED)
        else:
            try:
                await (self._post(exchange, path) if method == "POST" else self._visit(exchange, path))
            except Unavailable:
                metrics.UNAVAILABLE[0] += 1
                await exchange.respond(503, _RETRY_HEADERS)

    async def _visit(self, exchange: Exchange, path: bytes) -> None:
        """Raises Unavailable before it sends anything."""
        began = time.perf_counter()
        try:
            await self._respond(exchange, path)
        finally:
            metrics.LATENCY.observe(time.perf_counter() - began)

    async def _respond(self, exchange: Exchange, path: bytes) -> None:
        route = await self._load_route(exchange, exchange.sent)
        if route is MISSING and await self._respond_with_info_page(exchange):
            return
        request = self._read_request(exchange, exchange.headers)
        answer = await self._decide(route, request, exchange)
        preview = await self._find_preview(route) if answer.kind == decision.PREVIEW else b""
        visit: bytes | None = _NO_VISIT
        if preview is None:
            answer = decision.NO_LINK
        elif exchange.is_get and answer.is_visit:
            page = metrics.PREVIEW if preview else metrics.PIXEL_PAGE if answer.pixel_page else None
            pixels = answer.pixel_page[FIRED] if answer.pixel_page else b""
            visit = await self._record(route, request, answer.target, pixels, page)
        if visit is None:
            answer = not_found(route)
        if answer.kind == decision.NOT_FOUND:
            await self._not_found.respond(exchange, path, route, answer.location)
        elif answer.kind == decision.PASSWORD_FORM:
            await self._ask_password(exchange)
        elif preview:
            await exchange.respond(200, pages.PREVIEW_HEADERS, preview)
        elif answer.pixel_page and visit:
            nonce = next(self.state.nonces)
            headers = pixel_pages.headers(answer.pixel_page, nonce)
            await exchange.respond(200, headers, pixel_pages.page(answer.pixel_page, nonce, visit))
        else:
            await exchange.respond(302, [*REDIRECT_HEADERS, (b"location", answer.location or location_of(route))])

    async def _post(self, exchange: Exchange, path: bytes) -> None:
        """Check the password of a protected link, and redirect if it is right. That is the visit.

        Raises Unavailable before it sends anything.
        """
        route = await self._load_route(exchange, exchange.sent)
        if route is MISSING and (reported := await self._find_info_route(exchange)):
            appearance = await self._appearances.find(exchange.host)
            await respond_to_report(self._database, exchange, link_of(reported), appearance)
            return
        options = options_of(route)
        if options is None or options.password_version is None:
            await exchange.respond(405, _ALLOWED)
            return
        request = self._read_request(exchange, {**exchange.headers, b"referer": b""})  # it names the form
        answer = await self._decide(route, request, exchange, _ALL_PASSED)
        if answer.kind == decision.NOT_FOUND:  # since the form was opened
            await self._not_found.respond(exchange, path, route, answer.location)
            return
        link = link_of(route)
        is_foreign = is_from_other_site(exchange.headers)  # visitors of a hostile page would guess, and collect cookies
        version = password_pages.OTHER_SITE if is_foreign else await self._check_password(exchange, link)
        if isinstance(version, str):
            await self._ask_password(exchange, version, 403 if is_foreign else 200)
            return
        route = await self._load_route(exchange, exchange.sent)  # it may have changed while the form was sent
        answer = await self._decide(route, request, exchange, _ALL_PASSED)
        is_visit = link_of(route) == link and answer.is_visit
        if not is_visit or await self._record(route, request, answer.target, b"", None) is None:
            await self._not_found.respond(exchange, path, route, not_found(route).location)
            return
        cookies = self._cookies.new(
            link,
            version,
            self.state.now,
            path=exchange.scope["raw_path"],
            header=exchange.headers.get(b"cookie", b""),
            is_https=self._is_https(exchange.scope),
        )
        set_cookies = [(b"set-cookie", cookie) for cookie in cookies]
        location = answer.location or location_of(route)
        await exchange.respond(303, [*REDIRECT_HEADERS, (b"location", location), *set_cookies])

    async def _ask_password(self, exchange: Exchange, error: str = "", status: int = 200) -> None:
        metrics.PASSWORD_PAGE[0] += 1
        appearance = await self._appearances.find(exchange.host)
        await exchange.respond(status, password_pages.headers(appearance.color), password_pages.page(error, appearance))

    async def _check_password(self, exchange: Exchange, link: bytes) -> int | str:
        """Return the version of the password that was sent, or the message if it is not accepted."""
        password = await password_pages.read_password(exchange.receive)
        try:
            version = await self._database.password_version(link, password, exchange.scope) if password else None
        except RateLimited:
            return password_pages.TOO_MANY
        except Unavailable:
            return password_pages.BUSY
        return password_pages.WRONG if version is None else version

    def _read_request(self, exchange: Exchange, headers: Mapping[bytes, bytes]) -> VisitRequest:
        request = read_request(headers, exchange.query, exchange.peer, self.state.visitors)
        request.is_bot = self.state.bots[request.user_agent]
        request.more_path = exchange.more_path
        return request

    async def _decide(
        self, route: Route, request: VisitRequest, exchange: Exchange, checks: Checks | None = None
    ) -> VisitAnswer:
        """Load what the decision needs. Raises Unavailable."""
        request.at = self._begin_batch()
        answer = decide_visit(route, request, checks)
        options = options_of(route)
        if answer.kind == decision.UNDECIDED and options:
            if options.routing:
                await request.visitors().load(options.routing)
            checks = checks or await self._check(route, options, exchange)
            request.at = self._begin_batch()
            answer = decide_visit(route, request, checks)
        return answer

    async def _check(self, route: Route, options: RouteOptions, exchange: Exchange) -> Checks:
        """Raises Unavailable."""
        version = options.password_version
        is_used_up = await self._is_used_up(route)
        has_password = version is None or self._cookies.is_valid(
            exchange.headers.get(b"cookie", b""), link_of(route), version, self.state.now
        )
        return Checks(has_password, is_used_up)

    async def _is_used_up(self, route: Route) -> bool:
        """Return whether the link has reached its click limit. Raises Unavailable."""
        options = options_of(route)
        if options is None or options.click_limit is None:
            return False
        return await self.state.click_limits.is_used_up(link_of(route), options.click_limit)

    async def _load_route(self, exchange: Exchange, sent: bytes) -> Route:
        """Return the route of the link with this slug or alias on the host, or near it. MISSING if there is none.

        `sent`: a path as `exchange.sent`. Raises Unavailable.
        """
        state, host, path = self.state, exchange.host, unquote_to_bytes(sent)
        route = await state.table.load(path)
        if host_of(route) == host:
            return route
        if host not in state.own_hosts:
            route = await state.aliases.load_link(host, path)
            if route is not MISSING:
                return route
        elif host != state.shared_host:
            return MISSING
        if b"/" in sent and (route := await self._load_beginning(exchange, sent)) is not MISSING:
            return route
        near = await state.near.load_link(host, sent)
        if near.is_cut:
            exchange.query = query_of(sent, exchange.scope["query_string"])
        return near.route

    async def _load_beginning(self, exchange: Exchange, sent: bytes) -> Route:
        """Return the route of the link with the longest alias, or the slug, that the path begins with.

        MISSING if there is none that forwards paths. Sets `exchange.more_path`. Raises Unavailable.
        """
        state, host = self.state, exchange.host
        *longer, first = beginnings(sent)
        if not is_forwardable(sent[len(first) + 1 :]):
            return MISSING
        for beginning in state.near.possible_beginnings(longer) if host != state.shared_host else ():
            route = await state.aliases.load_link(host, unquote_to_bytes(beginning))
            if forwards_path(route):
                exchange.more_path = sent[len(beginning) + 1 :]
                return route
        path = unquote_to_bytes(first)
        route = await state.table.load(path)
        if host_of(route) != host:
            route = MISSING if host == state.shared_host else await state.aliases.load_link(host, path)
        if route is MISSING:
            route = (await state.near.load_link(host, first)).route
        if not forwards_path(route):
            return MISSING
        exchange.more_path = sent[len(first) + 1 :]
        return route

    def _begin_batch(self) -> float:
        """Return the time."""
        if not self.state.waiting_connections:
            self.state.begin_batch()
        return self.state.now

    async def _respond_with_info_page(self, exchange: Exchange) -> bool:
        """Send the page about the link at the path before the plus, which is not a visit. False if it is not found.

        Raises Unavailable before it sends anything.
        """
        route = await self._find_info_route(exchange)
        if route is None:
            return False
        appearance = await self._appearances.find(exchange.host)
        options = options_of(route)
        is_early = options is not None and self.state.now < options.starts_at
        key = (b"-" if is_early else b"+") + link_of(route)
        load = partial(self._database.info_page, link_of(route), appearance)
        # of an alias, it has the appearance of another host than that of the route
        page = await (self._find_page(key, route, load) if exchange.host == host_of(route) else load())
        if page is None:
            return False
        metrics.INFO_PAGE[0] += 1
        await exchange.respond(200, report_pages.headers(appearance.color), page)
        return True

    async def _find_info_route(self, exchange: Exchange) -> Route | None:
        """Return the route of the link at the path before the plus, if it has a page. Raises Unavailable."""
        suffix = _INFO_SUFFIX.search(exchange.sent)
        if suffix is None:
            return None
        route = await self._load_route(exchange, exchange.sent[: suffix.start()])
        is_missing = has_ended(route, self._begin_batch()) or await self._is_used_up(route)
        return None if is_missing else route

    async def _find_preview(self, route: Route) -> bytes | None:
        """Return the page for a bot. Empty if it is not available, and the bot is redirected.

        None if the link is gone although its route is still cached.
        """
        try:
            return await self._find_page(link_of(route), route, lambda: self._database.preview(link_of(route)))
        except Unavailable:
            return b""

    async def _find_page(self, key: bytes, route: Route, load: Callable[[], Awaitable[bytes | None]]) -> bytes | None:
        page = self.state.pages.find(key, route)
        if page is None:
            page = await load()
            options = options_of(route)
            # a heavy route must not outlive its place in the table
            if page and (options is None or options.weight == 1):
                self.state.pages.keep(key, route, page)
        return page

    async def _record(
        self, route: Route, request: VisitRequest, target: str, pixels: bytes, page: Series | None
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
            visit = self.state.record(link, request, pixels, target)
            self.state.flush()
            return visit

        if options is None or options.click_limit is None or not request.is_click:
            return write()
        return await self.state.click_limits.take(link, options.click_limit, write)
