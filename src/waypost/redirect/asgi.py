"""The slow brother of the fast protocol: the same answers for what reaches ASGI, and the front door of the site.

Hosts that only serve links never reach the application. A slug on an unknown host gets a bare 404, built from nothing
that was sent.
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import unquote_to_bytes

from waypost.kit.errors import Unavailable
from waypost.redirect.head import head_of
from waypost.redirect.plane import NOT_FOUND_HEADERS, NOT_FOUND_PAGE, REDIRECT_HEADERS, Plane
from waypost.redirect.route import LOCATION

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_METHODS = {"GET", "HEAD"}


class Site:
    """Sends a request to the application or to the links, by its first path segment and its host."""

    def __init__(self, plane: Plane, app: App) -> None:
        self.plane = plane
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = _joined(scope["headers"])
        host = canonical_host(headers.get(b"host", b""), scope["scheme"])
        slug = unquote_to_bytes(scope["raw_path"])[1:]
        if self.plane.is_app(slug.partition(b"/")[0], host):
            await self.app(scope, receive, send)
        elif scope["method"] not in _METHODS:
            await _answer(send, 405, [(b"allow", b"GET, HEAD")])
        else:
            await self._visit(scope, send, host, slug, headers)

    async def _visit(self, scope: Scope, send: Send, host: bytes, slug: bytes, headers: dict[bytes, bytes]) -> None:
        plane, is_get = self.plane, scope["method"] == "GET"
        try:
            route = await plane.table.load(slug)
        except Unavailable:
            await _answer(send, 503, [(b"retry-after", b"1"), (b"cache-control", b"no-store")])
            return
        if not plane.senders:
            plane.begin_round()
        if not plane.leads_nowhere(route, host):
            if is_get:
                peer = (scope.get("client") or ("",))[0].encode()
                plane.record(route, scope["query_string"], peer, head_of(headers))
                plane.send()
            await _answer(send, 302, [*REDIRECT_HEADERS, (b"location", route[1][LOCATION])])
        elif host == plane.shared_host:
            await _answer(send, 404, list(NOT_FOUND_HEADERS), NOT_FOUND_PAGE, with_body=is_get)
        else:
            await _answer(send, 404, [])


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


async def _answer(
    send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes = b"", *, with_body: bool = True
) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body if with_body else b""})
