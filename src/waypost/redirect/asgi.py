"""The ASGI entry point. Responds to visits that the protocol passes on, and passes all else to the application.

Bots get here and receive a page with the link's title. A plus after a link's address shows where it leads. Hosts that
only serve links never reach the application. A slug on an unknown host gets an empty 404.
"""

import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.kit.errors import RateLimited, Unavailable
from waypost.kit.fair_queue import FairQueue
from waypost.metrics import Series
from waypost.redirect import metrics, pages, password_pages, pixel_pages
from waypost.redirect.password_pages import Cookies
from waypost.redirect.pixel_pages import FIRED, PixelPage
from waypost.redirect.route import (
    DISABLED,
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
from waypost.redirect.routing.routed import DEFAULT_TARGET
from waypost.redirect.state import NOSNIFF, REDIRECT_HEADERS, RedirectState
from waypost.redirect.visit_headers import PURPOSE, USER_AGENT, VisitHeaders, is_prefetch, read_visit_headers

IsHttps = Callable[[Scope], bool]
"""Return whether the visitor uses HTTPS, as far as trusted proxies report it."""

FindPage = Callable[[bytes], Awaitable[bytes | None]]
"""Return a page by the link's id in 32 hex digits. None if the link is gone. Raises Unavailable."""

FindPasswordVersion = Callable[[bytes, str, Scope], Awaitable[int | None]]
"""Return the version of a link's password, None if the password sent is wrong. Raises RateLimited and Unavailable."""


@dataclass(frozen=True, slots=True)
class Finders:
    """Find what is in the database, for responses that are not redirects."""

    bot_page: FindPage
    info_page: FindPage
    password_version: FindPasswordVersion


_METHODS = {"GET", "HEAD"}
_WELL_KNOWN = b".well-known"
_ACME_CHALLENGES = b"/.well-known/acme-challenge/"
"""Served on every host: a certificate authority requests them before the domain is served."""
_INFO_SUFFIX = b"+"
_CONCURRENT_PAGES = 4
"""Each queries the database: many of them must not slow down the API and the dashboard."""
_MAX_WAITING = 64
"""Of each kind of page. Further bots are redirected, further readers of info pages get 503."""
_NO_VISIT = b"0" * 32
"""The visit id in a response to HEAD, which is not a visit."""
_RETRY_HEADERS = [(b"retry-after", b"1"), (b"cache-control", b"no-store")]
_NOINDEX = (b"x-robots-tag", b"noindex")
_BOT_PAGE_HEADERS = [*pages.HEADERS, (b"referrer-policy", b"no-referrer-when-downgrade"), _NOINDEX]
_INFO_PAGE_HEADERS = [*pages.INFO_HEADERS, _NOINDEX]


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
        self._page_queue = FairQueue(
            _CONCURRENT_PAGES,
            per_key=_CONCURRENT_PAGES,
            max_waiting=2 * _MAX_WAITING,
            max_waiting_per_key=_MAX_WAITING,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = _join_headers(scope["headers"])
        host = self._without_port(canonical_host(headers.get(b"host", b""), scope["scheme"]))
        is_own = host in self.state.own_hosts
        send = with_headers(send, [NOSNIFF, *(self.state.hsts if is_own and self._is_https(scope) else ())])
        if scope["raw_path"].startswith(_ACME_CHALLENGES):
            await (self.app(scope, receive, send) if scope["method"] == "GET" else _send_response(send, 404, []))
            return
        slug = unquote_to_bytes(scope["raw_path"])[1:]
        if self.state.is_app(slug.partition(b"/")[0], host):
            await self.app(scope, receive, send)
        elif scope["method"] not in (*_METHODS, "POST"):
            await _send_response(send, 405, [(b"allow", b"GET, HEAD")])
        else:
            try:
                await self._respond(scope, receive, send, host, slug, headers)
            except Unavailable:
                await _respond_unavailable(send)

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

    def _without_port(self, host: bytes) -> bytes:
        """Remove the port of a custom domain. Our own hosts keep their ports, as in the settings."""
        name = host.partition(b":")[0]
        is_exact = host.startswith(b"[") or host in self.state.own_hosts or name in self.state.own_hosts
        return host if is_exact else name

    async def _visit(self, scope: Scope, send: Send, host: bytes, slug: bytes, headers: dict[bytes, bytes]) -> None:
        is_get = scope["method"] == "GET"
        route = await self._load_route(host, slug)
        info_page = await self._find_info_page(host, slug) if route is MISSING else None
        if info_page:
            metrics.INFO_PAGE[0] += 1
            await _send_response(send, 200, _INFO_PAGE_HEADERS, info_page, with_body=is_get)
            return
        self._begin_batch()
        if self._is_over(route) or await self._is_used_up(route):
            await self._respond_missing(send, host, slug, _fallback(route), with_body=is_get)
            return
        if not self._may_enter(route, headers):
            metrics.PASSWORD_PAGE[0] += 1
            await _send_response(send, 200, password_pages.HEADERS, password_pages.page(), with_body=is_get)
            return
        visit_headers = read_visit_headers(headers)
        bot_page = await self._find_bot_page_for(route, visit_headers)
        if bot_page is None:
            await self._respond_missing(send, host, slug, with_body=is_get)
            return
        target, location, pixel_page = await self._choose(scope, route, visit_headers)
        page = metrics.PREVIEW if bot_page else metrics.PIXEL_PAGE if pixel_page else None
        fired = pixel_page[FIRED] if pixel_page else b""
        visit = await self._record(scope, route, visit_headers, fired, page, target) if is_get else _NO_VISIT
        if visit is None:
            await self._respond_missing(send, host, slug, _fallback(route), with_body=is_get)
            return
        if bot_page:
            await _send_response(send, 200, _BOT_PAGE_HEADERS, bot_page, with_body=is_get)
        elif pixel_page:
            await self._respond_with_pixels(send, pixel_page, visit, with_body=is_get)
        else:
            await _send_response(send, 302, [*REDIRECT_HEADERS, (b"location", location)])

    async def _post(
        self, scope: Scope, receive: Receive, send: Send, host: bytes, slug: bytes, headers: dict[bytes, bytes]
    ) -> None:
        """Check the password of a protected link, and redirect if it is right. That is the visit."""
        route = await self._load_route(host, slug)
        self._begin_batch()
        routed = route[ROUTED]
        if routed is None or routed.password_version is None or self._is_over(route):
            await _send_response(send, 405, [(b"allow", b"GET, HEAD")])
            return
        link = route[TARGET][LINK_ID]
        version = await self._check_password(scope, receive, link)
        if isinstance(version, str):
            metrics.PASSWORD_PAGE[0] += 1
            await _send_response(send, 200, password_pages.HEADERS, password_pages.page(version))
            return
        route = await self._load_route(host, slug)
        self._begin_batch()
        if route[TARGET][LINK_ID] != link or self._is_over(route):  # it changed while the form was sent
            await self._respond_missing(send, host, slug, _fallback(route), with_body=True)
            return
        visit_headers = read_visit_headers(headers)
        target, location, _ = await self._choose(scope, route, visit_headers)
        if await self._record(scope, route, visit_headers, b"", None, target) is None:
            await self._respond_missing(send, host, slug, _fallback(route), with_body=True)
            return
        cookie = self._cookies.new(link, version, self.state.now, is_https=self._is_https(scope))
        set_cookie = [(b"set-cookie", cookie)] if cookie else []
        await _send_response(send, 303, [*REDIRECT_HEADERS, (b"location", location), *set_cookie])

    async def _check_password(self, scope: Scope, receive: Receive, link: bytes) -> int | str:
        """Return the version of the password that was sent, or the message if it is not accepted."""
        password = await password_pages.read_password(receive)
        try:
            version = await self._finders.password_version(link, password, scope) if password else None
        except RateLimited:
            return password_pages.TOO_MANY
        except Unavailable:
            return password_pages.BUSY
        return password_pages.WRONG if version is None else version

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
                visit = route[TARGET][LINK_ID], _peer(scope), scope["query_string"], visit_headers
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

    async def _respond_missing(
        self, send: Send, host: bytes, slug: bytes, fallback: bytes | None = None, *, with_body: bool
    ) -> None:
        """Redirect to the link's fallback, and `/` and unknown slugs if the custom domain does so.

        An unknown host gets an empty 404.

        Never redirect below `/.well-known/`: an authority that follows would verify the domain for the target.
        """
        if host in self.state.own_hosts:
            is_for_links, target = host == self.state.shared_host, b""
        else:
            try:
                route = await self.state.hosts.load(host)
            except Unavailable:
                await _respond_unavailable(send)
                return
            is_for_links = route is not MISSING
            root, _, not_found = route[TARGET][LOCATION].partition(b" ")
            target = not_found if slug else root
            if slug.partition(b"/")[0].lower() == _WELL_KNOWN:
                is_for_links, target = False, b""
        metrics.NOT_FOUND[0] += 1
        if fallback or target:
            await _send_response(send, 302, [*REDIRECT_HEADERS, (b"location", fallback or target)])
        elif is_for_links:
            await _send_response(send, 404, list(pages.HEADERS), pages.NOT_FOUND, with_body=with_body)
        else:
            await _send_response(send, 404, [])

    async def _find_info_page(self, host: bytes, path: bytes) -> bytes | None:
        """Return the page about the link at the path before the plus, which is not a visit. None if it is not found.

        Raises Unavailable.
        """
        if not path.endswith(_INFO_SUFFIX):
            return None
        route = await self._load_route(host, path.removesuffix(_INFO_SUFFIX))
        self._begin_batch()
        routed = route[ROUTED]
        if self._is_over(route) and not (routed and self.state.now < min(routed.starts_at, route[EXPIRES_AT])):
            return None
        if await self._is_used_up(route):
            return None
        async with self._page_queue.slot("info"):
            return await self._finders.info_page(route[TARGET][LINK_ID])

    async def _find_bot_page_for(self, route: Route, visit_headers: VisitHeaders) -> bytes | None:
        """Return the page for a bot. Empty for people, and for bots that are redirected because no page is available.

        None if the link is gone although its route is still cached.
        """
        if not self.state.bots[visit_headers[USER_AGENT]]:
            return b""
        try:
            async with self._page_queue.slot("bot"):
                return await self._finders.bot_page(route[TARGET][LINK_ID])
        except Unavailable:
            return b""

    async def _respond_with_pixels(self, send: Send, pixel_page: PixelPage, visit: bytes, *, with_body: bool) -> None:
        nonce = next(self.state.nonces)
        body = pixel_pages.page(pixel_page, nonce, visit)
        await _send_response(send, 200, pixel_pages.headers(pixel_page, nonce), body, with_body=with_body)

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
        visit_of = route, scope["query_string"], _peer(scope), visit_headers, fired
        visit = self.state.record_target(*visit_of, target) if target else self.state.record(*visit_of)
        self.state.flush()
        return visit


def _fallback(route: Route) -> bytes | None:
    routed = route[ROUTED]
    return routed.fallback if routed and route[EXPIRES_AT] != DISABLED else None


def _peer(scope: Scope) -> bytes:
    return (scope.get("client") or ("",))[0].encode()


def _join_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Join repeated headers with commas: each of two proxies may have added one."""
    joined: dict[bytes, bytes] = {}
    for name, value in headers:
        joined[name] = joined[name] + b", " + value if name in joined else value
    return joined


def canonical_host(host: bytes, scheme: str) -> bytes:
    """Return the host in lower case, without a trailing dot and the scheme's default port."""
    name, colon, port = host.lower().partition(b":") if not host.startswith(b"[") else (host.lower(), b"", b"")
    name = name.removesuffix(b".")
    if not colon or port == (b"443" if scheme == "https" else b"80"):
        return name
    return name + b":" + port


def with_headers(send: Send, headers: list[tuple[bytes, bytes]]) -> Send:
    """Add the headers that a response does not have."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] = [*(header for header in headers if header[0] not in present), *message["headers"]]
        await send(message)

    return send_with_headers


async def _respond_unavailable(send: Send) -> None:
    metrics.UNAVAILABLE[0] += 1
    await _send_response(send, 503, _RETRY_HEADERS)


async def _send_response(
    send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes = b"", *, with_body: bool = True
) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body if with_body else b""})
