"""The slow brother of the fast protocol: the same answers for what reaches ASGI, and the entry point of the site.

Bots end up here, and are shown what a link leads to. Hosts that only serve links never reach the application. A slug
on an unknown host gets a bare 404, built from nothing that was sent.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import unquote_to_bytes

from waypost.kit.errors import Unavailable
from waypost.redirect import pages, pixel_pages
from waypost.redirect.head import USER_AGENT, Head, head_of
from waypost.redirect.pixel_pages import FIRED, PixelPage
from waypost.redirect.plane import NOSNIFF, REDIRECT_HEADERS, Plane
from waypost.redirect.route import LINK, LOCATION, MISSING, PIXEL_PAGE, Route

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

IsHttps = Callable[[Scope], bool]
"""Whether the visitor came over HTTPS, as far as proxies may be believed."""

Preview = Callable[[bytes], Awaitable[bytes | None]]
"""The page that bots are shown of a link, by its id in 32 hex digits. None: it is gone. Raises Unavailable."""

_METHODS = {"GET", "HEAD"}
_WELL_KNOWN = b".well-known"
_PROOFS = b"/.well-known/acme-challenge/"
"""On any host, also one that nobody has: a certificate authority asks before a name is served."""
_PREVIEWS_AT_ONCE = 4
"""Each asks the database: a crowd of bots must leave it to those who write links and read figures."""
_BOTS_AT_MOST = 64
"""Who comes when so many wait is redirected."""
_NO_VISIT = b"0" * 32
"""Takes the place of an id where the head of a page is asked for."""
_NOT_NOW = [(b"retry-after", b"1"), (b"cache-control", b"no-store")]
_PREVIEW_HEADERS = [
    *pages.HEADERS,
    (b"referrer-policy", b"no-referrer-when-downgrade"),
    (b"x-robots-tag", b"noindex"),
]


class Site:
    """Sends a request to the application or to the links, by its first path segment and its host."""

    def __init__(self, plane: Plane, app: App, preview: Preview, is_https: IsHttps = lambda _: False) -> None:
        self.plane = plane
        self.app = app
        self._preview = preview
        self._is_https = is_https
        self._turns = asyncio.Semaphore(_PREVIEWS_AT_ONCE)
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = _joined(scope["headers"])
        host = self._known_as(canonical_host(headers.get(b"host", b""), scope["scheme"]))
        is_own = host in self.plane.own_hosts
        send = with_headers(send, [NOSNIFF, *(self.plane.hsts if is_own and self._is_https(scope) else ())])
        if scope["raw_path"].startswith(_PROOFS):
            await (self.app(scope, receive, send) if scope["method"] == "GET" else _answer(send, 404, []))
            return
        slug = unquote_to_bytes(scope["raw_path"])[1:]
        if self.plane.is_app(slug.partition(b"/")[0], host):
            await self.app(scope, receive, send)
        elif scope["method"] not in _METHODS:
            await _answer(send, 405, [(b"allow", b"GET, HEAD")])
        else:
            await self._visit(scope, send, host, slug, headers)

    def _known_as(self, host: bytes) -> bytes:
        """A custom domain is the same on every port; those of our own hosts are in the settings."""
        name = host.partition(b":")[0]
        is_kept_whole = host.startswith(b"[") or host in self.plane.own_hosts or name in self.plane.own_hosts
        return host if is_kept_whole else name

    async def _visit(self, scope: Scope, send: Send, host: bytes, slug: bytes, headers: dict[bytes, bytes]) -> None:
        is_get = scope["method"] == "GET"
        try:
            route = await self.plane.table.load(slug)
        except Unavailable:
            await _answer(send, 503, _NOT_NOW)
            return
        self._begin_round()
        if self.plane.leads_nowhere(route, host):
            await self._answer_missing(send, host, slug, with_body=is_get)
            return
        head = head_of(headers)
        page = await self._page_for(route, head)
        if page is None:
            await self._answer_missing(send, host, slug, with_body=is_get)
            return
        pixel_page = route[PIXEL_PAGE] if self._is_fired(head) else None
        visit = self._record(scope, route, head, pixel_page[FIRED] if pixel_page else b"") if is_get else _NO_VISIT
        if page:
            await _answer(send, 200, _PREVIEW_HEADERS, page, with_body=is_get)
        elif pixel_page:
            await self._answer_with_pixels(send, pixel_page, visit, with_body=is_get)
        else:
            await _answer(send, 302, [*REDIRECT_HEADERS, (b"location", route[1][LOCATION])])

    def _is_fired(self, head: Head) -> bool:
        """Not for a bot either that is redirected because nothing can be shown just now."""
        return pixel_pages.may_fire(head) and not self.plane.bots[head[USER_AGENT]]

    def _begin_round(self) -> None:
        if not self.plane.senders:
            self.plane.begin_round()

    async def _answer_missing(self, send: Send, host: bytes, slug: bytes, *, with_body: bool) -> None:
        """On a custom domain its owner says where to, at `/` and elsewhere; on a host that nobody has a bare 404.

        Never below `/.well-known/`: an authority that follows there would prove the name to whoever is led to.
        """
        if host in self.plane.own_hosts:
            is_for_links, target = host == self.plane.shared_host, b""
        else:
            try:
                route = await self.plane.hosts.load(host)
            except Unavailable:
                await _answer(send, 503, _NOT_NOW)
                return
            is_for_links = route is not MISSING
            root, _, unknown = route[1][LOCATION].partition(b" ")
            target = unknown if slug else root
            if slug.partition(b"/")[0].lower() == _WELL_KNOWN:
                is_for_links, target = False, b""
        if target:
            await _answer(send, 302, [*REDIRECT_HEADERS, (b"location", target)])
        elif is_for_links:
            await _answer(send, 404, list(pages.HEADERS), pages.NOT_FOUND, with_body=with_body)
        else:
            await _answer(send, 404, [])

    async def _page_for(self, route: Route, head: Head) -> bytes | None:
        """Empty for whoever is redirected: people, and bots whom nothing can be shown just now. They read what the
        destination says of itself. None for a link that is gone, although the route is not yet forgotten.
        """
        if not self.plane.bots[head[USER_AGENT]] or self._waiting == _BOTS_AT_MOST:
            return b""
        self._waiting += 1
        try:
            async with self._turns:
                return await self._preview(route[1][LINK])
        except Unavailable:
            return b""
        finally:
            self._waiting -= 1

    async def _answer_with_pixels(self, send: Send, pixel_page: PixelPage, visit: bytes, *, with_body: bool) -> None:
        nonce = next(self.plane.nonces)
        await _answer(
            send,
            200,
            pixel_pages.headers(pixel_page, nonce),
            pixel_pages.page(pixel_page, nonce, visit),
            with_body=with_body,
        )

    def _record(self, scope: Scope, route: Route, head: Head, fired: bytes) -> bytes:
        self._begin_round()  # the last one may have ended while a page was waited for
        peer = (scope.get("client") or ("",))[0].encode()
        visit = self.plane.record(route, scope["query_string"], peer, head, fired)
        self.plane.send()
        return visit


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """On several lines a header means what it means on one, with commas: two proxies may each have added theirs."""
    joined: dict[bytes, bytes] = {}
    for name, value in headers:
        joined[name] = joined[name] + b", " + value if name in joined else value
    return joined


def canonical_host(host: bytes, scheme: str) -> bytes:
    """Lower case, without a trailing dot and without the scheme's own port."""
    name, colon, port = host.lower().partition(b":") if not host.startswith(b"[") else (host.lower(), b"", b"")
    name = name.removesuffix(b".")
    if not colon or port == (b"443" if scheme == "https" else b"80"):
        return name
    return name + b":" + port


def with_headers(send: Send, headers: list[tuple[bytes, bytes]]) -> Send:
    """Adds those that an answer does not have."""

    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
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
