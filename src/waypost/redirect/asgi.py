"""The entry point of the site. Answers visits that the fast protocol passes on, and routes the rest to the application.

Bots get here and receive a preview page. Hosts that only serve links never reach the application. A slug on an unknown
host gets an empty 404.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.kit.errors import Unavailable
from waypost.redirect import pages, pixel_pages
from waypost.redirect.head import USER_AGENT, Head, head_of
from waypost.redirect.pixel_pages import FIRED, PixelPage
from waypost.redirect.plane import NOSNIFF, REDIRECT_HEADERS, Plane
from waypost.redirect.route import LINK, LOCATION, MISSING, PIXEL_PAGE, Route

IsHttps = Callable[[Scope], bool]
"""Whether the visitor uses HTTPS. Believes trusted proxies only."""

FindPreview = Callable[[bytes], Awaitable[bytes | None]]
"""The page that bots get, by the link's id in 32 hex digits. None: the link is gone. Raises Unavailable."""

_METHODS = {"GET", "HEAD"}
_WELL_KNOWN = b".well-known"
_ACME_CHALLENGES = b"/.well-known/acme-challenge/"
"""On any host, known or not: a certificate authority asks before the domain is served."""
_MAX_CONCURRENT_PREVIEWS = 4
"""Each queries the database: a crowd of bots must not slow down the API and the dashboard."""
_MAX_WAITING_BOTS = 64
"""Further bots are redirected."""
_NO_VISIT = b"0" * 32
"""In place of a visit's id in an answer to HEAD."""
_RETRY_HEADERS = [(b"retry-after", b"1"), (b"cache-control", b"no-store")]
_PREVIEW_HEADERS = [
    *pages.HEADERS,
    (b"referrer-policy", b"no-referrer-when-downgrade"),
    (b"x-robots-tag", b"noindex"),
]


class Site:
    """Routes a request to the application or to the links, by its host and its first path segment."""

    def __init__(
        self, plane: Plane, app: ASGIApp, find_preview: FindPreview, is_https: IsHttps = lambda _: False
    ) -> None:
        self.plane = plane
        self.app = app
        self._find_preview = find_preview
        self._is_https = is_https
        self._preview_slots = asyncio.Semaphore(_MAX_CONCURRENT_PREVIEWS)
        self._waiting_bots = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = _join_headers(scope["headers"])
        host = self._without_port(canonical_host(headers.get(b"host", b""), scope["scheme"]))
        is_own = host in self.plane.own_hosts
        send = with_headers(send, [NOSNIFF, *(self.plane.hsts if is_own and self._is_https(scope) else ())])
        if scope["raw_path"].startswith(_ACME_CHALLENGES):
            await (self.app(scope, receive, send) if scope["method"] == "GET" else _answer(send, 404, []))
            return
        slug = unquote_to_bytes(scope["raw_path"])[1:]
        if self.plane.is_app(slug.partition(b"/")[0], host):
            await self.app(scope, receive, send)
        elif scope["method"] not in _METHODS:
            await _answer(send, 405, [(b"allow", b"GET, HEAD")])
        else:
            await self._visit(scope, send, host, slug, headers)

    def _without_port(self, host: bytes) -> bytes:
        """A custom domain is the same on every port. Our own hosts keep their ports, as in the settings."""
        name = host.partition(b":")[0]
        is_exact = host.startswith(b"[") or host in self.plane.own_hosts or name in self.plane.own_hosts
        return host if is_exact else name

    async def _visit(self, scope: Scope, send: Send, host: bytes, slug: bytes, headers: dict[bytes, bytes]) -> None:
        is_get = scope["method"] == "GET"
        try:
            route = await self.plane.table.load(slug)
        except Unavailable:
            await _answer(send, 503, _RETRY_HEADERS)
            return
        self._begin_round()
        if self.plane.is_missing(route, host):
            await self._answer_missing(send, host, slug, with_body=is_get)
            return
        head = head_of(headers)
        preview = await self._preview_for(route, head)
        if preview is None:
            await self._answer_missing(send, host, slug, with_body=is_get)
            return
        pixel_page = route[PIXEL_PAGE] if self._may_fire(head) else None
        visit = self._record(scope, route, head, pixel_page[FIRED] if pixel_page else b"") if is_get else _NO_VISIT
        if preview:
            await _answer(send, 200, _PREVIEW_HEADERS, preview, with_body=is_get)
        elif pixel_page:
            await self._answer_with_pixels(send, pixel_page, visit, with_body=is_get)
        else:
            await _answer(send, 302, [*REDIRECT_HEADERS, (b"location", route[1][LOCATION])])

    def _may_fire(self, head: Head) -> bool:
        """Never for a bot, even if it is redirected because no preview is available."""
        return pixel_pages.may_fire(head) and not self.plane.bots[head[USER_AGENT]]

    def _begin_round(self) -> None:
        if not self.plane.senders:
            self.plane.begin_round()

    async def _answer_missing(self, send: Send, host: bytes, slug: bytes, *, with_body: bool) -> None:
        """A custom domain may redirect `/` and unknown slugs. An unknown host gets an empty 404.

        Never redirects below `/.well-known/`: an authority that follows would verify the domain for the target.
        """
        if host in self.plane.own_hosts:
            is_for_links, target = host == self.plane.shared_host, b""
        else:
            try:
                route = await self.plane.hosts.load(host)
            except Unavailable:
                await _answer(send, 503, _RETRY_HEADERS)
                return
            is_for_links = route is not MISSING
            root, _, not_found = route[1][LOCATION].partition(b" ")
            target = not_found if slug else root
            if slug.partition(b"/")[0].lower() == _WELL_KNOWN:
                is_for_links, target = False, b""
        if target:
            await _answer(send, 302, [*REDIRECT_HEADERS, (b"location", target)])
        elif is_for_links:
            await _answer(send, 404, list(pages.HEADERS), pages.NOT_FOUND, with_body=with_body)
        else:
            await _answer(send, 404, [])

    async def _preview_for(self, route: Route, head: Head) -> bytes | None:
        """Empty for people, and for bots if no preview is available: they are redirected and read the destination.

        None for a link that is gone although its route is still cached.
        """
        if not self.plane.bots[head[USER_AGENT]] or self._waiting_bots == _MAX_WAITING_BOTS:
            return b""
        self._waiting_bots += 1
        try:
            async with self._preview_slots:
                return await self._find_preview(route[1][LINK])
        except Unavailable:
            return b""
        finally:
            self._waiting_bots -= 1

    async def _answer_with_pixels(self, send: Send, pixel_page: PixelPage, visit: bytes, *, with_body: bool) -> None:
        nonce = next(self.plane.nonces)
        body = pixel_pages.page(pixel_page, nonce, visit)
        await _answer(send, 200, pixel_pages.headers(pixel_page, nonce), body, with_body=with_body)

    def _record(self, scope: Scope, route: Route, head: Head, fired: bytes) -> bytes:
        self._begin_round()  # the last one may have ended while a preview was loaded
        peer = (scope.get("client") or ("",))[0].encode()
        visit = self.plane.record(route, scope["query_string"], peer, head, fired)
        self.plane.send()
        return visit


def _join_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """A repeated header means the same as one with commas: two proxies may each have added theirs."""
    joined: dict[bytes, bytes] = {}
    for name, value in headers:
        joined[name] = joined[name] + b", " + value if name in joined else value
    return joined


def canonical_host(host: bytes, scheme: str) -> bytes:
    """The host in lower case, without a trailing dot and without the scheme's default port."""
    name, colon, port = host.lower().partition(b":") if not host.startswith(b"[") else (host.lower(), b"", b"")
    name = name.removesuffix(b".")
    if not colon or port == (b"443" if scheme == "https" else b"80"):
        return name
    return name + b":" + port


def with_headers(send: Send, headers: list[tuple[bytes, bytes]]) -> Send:
    """Adds the headers that a response does not have."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] = [*(each for each in headers if each[0] not in present), *message["headers"]]
        await send(message)

    return send_with_headers


async def _answer(
    send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes = b"", *, with_body: bool = True
) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body if with_body else b""})
