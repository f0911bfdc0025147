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
from waypost.redirect import metrics, pages, password_pages, pixel_pages, report_pages
from waypost.redirect.asgi_messages import (
    canonical_host,
    join_headers,
    peer_of,
    respond_unavailable,
    send_response,
    with_headers,
    without_port,
)
from waypost.redirect.database_calls import Finders
from waypost.redirect.forms import is_from_other_site
from waypost.redirect.not_found import MissingResponder, fallback_of
from waypost.redirect.password_pages import Cookies
from waypost.redirect.pixel_pages import FIRED, PixelPage
from waypost.redirect.reports import respond_to_report
from waypost.redirect.request import PURPOSE, USER_AGENT, VisitHeaders, is_prefetch, read_visit_headers
from waypost.redirect.route import (
    EXPIRES_AT,
    HOST,
    LINK_ID,
    LOCATION,
    MISSING,
    PIXEL_PAGE,
    ROUTED,
    TARGET,
    Route,
)
from waypost.redirect.route_options import DEFAULT_TARGET
from waypost.redirect.state import NOSNIFF, REDIRECT_HEADERS, RedirectState

IsHttps = Callable[[Scope], bool]
"""Return whether the visitor uses HTTPS, as far as trusted proxies report it."""


_METHODS = {"GET", "HEAD"}
_ACME_CHALLENGES = b"/.well-known/acme-challenge/"
"""Served on every host: a certificate authority requests them before the domain is served."""
_INFO_SUFFIX = b"+"
_NO_VISIT = b"0" * 32
"""The visit id in a response to HEAD, which is not a visit."""
_NOINDEX = (b"x-robots-tag", b"noindex")
_BOT_PAGE_HEADERS = [*pages.HEADERS, (b"referrer-policy", b"no-referrer-when-downgrade"), _NOINDEX]


class RedirectApp:
    """Serves a request as a visit or passes it to the application, by its host and its first path segment."""

    def __init__(
        self,
        state: RedirectState,
        app: ASGIApp,
        finders: Finders,
        is_https: IsHttps = lambda _: False,
        cookies: Cookies | None = None,
    ) -> None:
        """`cookies`: of protected links."""
        self.state = state
        self.app = app
        self._finders = finders
        self._is_https = is_https
        self._cookies = cookies or Cookies([])
        self._missing = MissingResponder(state, finders)

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
        slug = unquote_to_bytes(scope["raw_path"])[1:]
        if self.state.is_app(slug.partition(b"/")[0], host):
            await self.app(scope, receive, send)
        elif scope["method"] not in (*_METHODS, "POST"):
            await send_response(send, 405, [(b"allow", b"GET, HEAD")])
        else:
            try:
                await self._respond(scope, receive, send, host, slug, headers)
            except Unavailable:
                await respond_unavailable(send)

    async def _respond(
        self, scope: Scope, receive: Receive, send: Send, host: bytes, slug: bytes, headers: dict[bytes, bytes]
    ) -> None:
        """Raises Unavailable before it sends anything."""
        if scope["method"] == "POST":
            await self._post(scope, receive, send, host, slug, headers)
            return
        began = time.perf_counter()
        try:
            await self._visit(scope, send, host, slug, headers)
        finally:
            metrics.LATENCY.observe(time.perf_counter() - began)

    async def _visit(self, scope: Scope, send: Send, host: bytes, slug: bytes, headers: dict[bytes, bytes]) -> None:
        is_get = scope["method"] == "GET"
        route = await self._load_route(host, slug)
        info_page = await self._find_info_page(host, slug) if route is MISSING else None
        if info_page:
            metrics.INFO_PAGE[0] += 1
            await send_response(send, 200, report_pages.HEADERS, info_page, with_body=is_get)
            return
        self._begin_batch()
        if self._is_over(route) or await self._is_used_up(route):
            await self._missing.respond(send, host, slug, headers, fallback_of(route), with_body=is_get)
            return
        if not self._may_enter(route, headers):
            metrics.PASSWORD_PAGE[0] += 1
            await send_response(send, 200, password_pages.HEADERS, password_pages.page(), with_body=is_get)
            return
        visit_headers = read_visit_headers(headers)
        bot_page = await self._find_bot_page_for(route, visit_headers)
        if bot_page is None:
            await self._missing.respond(send, host, slug, headers, with_body=is_get)
            return
        target, location, pixel_page = await self._choose(scope, route, visit_headers)
        page = metrics.PREVIEW if bot_page else metrics.PIXEL_PAGE if pixel_page else None
        fired = pixel_page[FIRED] if pixel_page else b""
        visit = await self._record(scope, route, visit_headers, fired, page, target) if is_get else _NO_VISIT
        if visit is None:
            await self._missing.respond(send, host, slug, headers, fallback_of(route), with_body=is_get)
            return
        if bot_page:
            await send_response(send, 200, _BOT_PAGE_HEADERS, bot_page, with_body=is_get)
        elif pixel_page:
            await self._respond_with_pixels(send, pixel_page, visit, with_body=is_get)
        else:
            await send_response(send, 302, [*REDIRECT_HEADERS, (b"location", location)])

    async def _post(
        self, scope: Scope, receive: Receive, send: Send, host: bytes, slug: bytes, headers: dict[bytes, bytes]
    ) -> None:
        """Check the password of a protected link, and redirect if it is right. That is the visit."""
        route = await self._load_route(host, slug)
        if route is MISSING and (reported := await self._find_info_link(host, slug)):
            await respond_to_report(self._finders, scope, receive, send, headers, reported)
            return
        self._begin_batch()
        routed = route[ROUTED]
        if routed is None or routed.password_version is None:
            await send_response(send, 405, [(b"allow", b"GET, HEAD")])
            return
        if self._is_over(route):  # since the form was opened
            await self._missing.respond(send, host, slug, headers, fallback_of(route), with_body=True)
            return
        link = route[TARGET][LINK_ID]
        is_foreign = is_from_other_site(headers)  # visitors of a hostile page would guess, and collect cookies
        version = password_pages.OTHER_SITE if is_foreign else await self._finders.check_password(scope, receive, link)
        if isinstance(version, str):
            metrics.PASSWORD_PAGE[0] += 1
            status = 403 if is_foreign else 200
            await send_response(send, status, password_pages.HEADERS, password_pages.page(version))
            return
        route = await self._load_route(host, slug)
        self._begin_batch()
        if route[TARGET][LINK_ID] != link or self._is_over(route):  # it changed while the form was sent
            await self._missing.respond(send, host, slug, headers, fallback_of(route), with_body=True)
            return
        visit_headers = read_visit_headers({**headers, b"referer": b""})  # it names the form
        target, location, _ = await self._choose(scope, route, visit_headers)
        if await self._record(scope, route, visit_headers, b"", None, target) is None:
            await self._missing.respond(send, host, slug, headers, fallback_of(route), with_body=True)
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
        await send_response(send, 303, [*REDIRECT_HEADERS, (b"location", location), *set_cookies])

    def _may_enter(self, route: Route, headers: dict[bytes, bytes]) -> bool:
        """Return whether the link has no password, or the browser has sent it within the last hour."""
        routed = route[ROUTED]
        version = routed.password_version if routed else None
        if version is None:
            return True
        return self._cookies.is_valid(headers.get(b"cookie", b""), route[TARGET][LINK_ID], version, self.state.now)

    def _is_over(self, route: Route) -> bool:
        """Return whether the route does not resolve now."""
        routed = route[ROUTED]
        has_started = routed is None or self.state.now >= routed.starts_at
        return route is MISSING or self.state.now >= route[EXPIRES_AT] or not has_started

    async def _is_used_up(self, route: Route) -> bool:
        """Return whether the link has reached its click limit. Raises Unavailable."""
        routed = route[ROUTED]
        if routed is None or routed.click_limit is None:
            return False
        return await self.state.click_limits.is_used_up(route[TARGET][LINK_ID], routed.click_limit)

    async def _choose(
        self, scope: Scope, route: Route, visit_headers: VisitHeaders
    ) -> tuple[str, bytes, PixelPage | None]:
        """Return the target's name, its location, and the page that fires pixels for this visitor.

        The name is empty without rules and variants. Bots get the link's own destination.
        """
        routed, target, location, pixel_page = route[ROUTED], "", route[TARGET][LOCATION], route[PIXEL_PAGE]
        if routed and routed.routing:
            target, other = DEFAULT_TARGET, None
            if not self.state.bots[visit_headers[USER_AGENT]]:
                visitors = self.state.visitors
                await visitors.load(routed.routing)
                self._begin_batch()
                visit = route[TARGET][LINK_ID], peer_of(scope), scope["query_string"], visit_headers
                target, other = visitors.decide(routed.routing, *visit, self.state.now)
            if other:
                location, pixel_page = other, routed.pixel_pages.get(other)
        return target, location, pixel_page if self._may_fire(visit_headers) else None

    async def _load_route(self, host: bytes, path: bytes) -> Route:
        """Return the route of the link with this slug or alias on the host, or MISSING. Raises Unavailable."""
        route = await self.state.table.load(path)
        if route[HOST] == host:
            return route
        return MISSING if host in self.state.own_hosts else await self.state.aliases.load_link(host, path)

    def _may_fire(self, visit_headers: VisitHeaders) -> bool:
        """Return False for a bot, too, which is redirected if no page for it is available."""
        return pixel_pages.may_fire(visit_headers) and not self.state.bots[visit_headers[USER_AGENT]]

    def _begin_batch(self) -> None:
        if not self.state.waiting_connections:
            self.state.begin_batch()

    async def _find_info_page(self, host: bytes, path: bytes) -> bytes | None:
        """Return the page about the link at the path before the plus, which is not a visit. None if it is not found.

        Raises Unavailable.
        """
        link = await self._find_info_link(host, path)
        return await self._finders.info_page(link) if link else None

    async def _find_info_link(self, host: bytes, path: bytes) -> bytes | None:
        """Return the id of the link at the path before the plus, if it has a page. Raises Unavailable."""
        if not path.endswith(_INFO_SUFFIX):
            return None
        route = await self._load_route(host, path.removesuffix(_INFO_SUFFIX))
        self._begin_batch()
        routed = route[ROUTED]
        if self._is_over(route) and not (routed and self.state.now < min(routed.starts_at, route[EXPIRES_AT])):
            return None
        if await self._is_used_up(route):
            return None
        return route[TARGET][LINK_ID]

    async def _find_bot_page_for(self, route: Route, visit_headers: VisitHeaders) -> bytes | None:
        """Return the page for a bot. Empty for people, and for bots that are redirected because no page is available.

        None if the link is gone although its route is still cached.
        """
        if not self.state.bots[visit_headers[USER_AGENT]]:
            return b""
        try:
            return await self._finders.bot_page(route[TARGET][LINK_ID])
        except Unavailable:
            return b""

    async def _respond_with_pixels(self, send: Send, pixel_page: PixelPage, visit: bytes, *, with_body: bool) -> None:
        nonce = next(self.state.nonces)
        body = pixel_pages.page(pixel_page, nonce, visit)
        await send_response(send, 200, pixel_pages.headers(pixel_page, nonce), body, with_body=with_body)

    async def _record(
        self, scope: Scope, route: Route, visit_headers: VisitHeaders, fired: bytes, page: Series | None, target: str
    ) -> bytes | None:
        """Record the visit and return its id. None if it is a click beyond the limit of the link. Raises Unavailable.

        Bots and prefetches are no clicks.
        """
        routed, visit = route[ROUTED], (scope, route, visit_headers, fired, page, target)
        is_click = not (is_prefetch(visit_headers[PURPOSE]) or self.state.bots[visit_headers[USER_AGENT]])
        if routed is None or routed.click_limit is None or not is_click:
            return self._write(*visit)
        limits = self.state.click_limits
        return await limits.take(route[TARGET][LINK_ID], routed.click_limit, lambda: self._write(*visit))

    def _write(
        self, scope: Scope, route: Route, visit_headers: VisitHeaders, fired: bytes, page: Series | None, target: str
    ) -> bytes:
        """`page`: what counts the page that the visit gets. None for a redirect, which `flush` counts.

        `target`: empty for a link without rules and variants.
        """
        self._begin_batch()  # the last one may have ended while a bot page was loaded
        if page:
            page[0] += 1
            self.state.pages_in_batch += 1
        visit = self.state.record(route, scope["query_string"], peer_of(scope), visit_headers, fired, target)
        self.state.flush()
        return visit
