"""Answers requests for images in memory before they reach the framework, which takes longer than everything else here.

A request is remembered by its URL once the endpoint has verified it. Later ones need no query: the route of the link,
which redirects keep in memory, shows that the link still has the same address.
"""

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.kit.errors import Unavailable
from waypost.kit.shared_cache import SharedCache
from waypost.redirect import RouteTable
from waypost.redirect.route import host_of, link_of
from waypost.resources.qrcodes.image_cache import CodeImage, ImageCache
from waypost.resources.qrcodes.image_response import image_headers, is_cached
from waypost.resources.qrcodes.model import CodeTarget
from waypost.web import PREFIX

_PATH = f"{PREFIX}/qrcodes/"
_METHODS = frozenset({"GET", "HEAD"})
_LIMIT = 8_192
"""Of known URLs: about a kilobyte each."""

_Url = tuple[bytes, bytes]
"""Path and query as received."""


class _Known(NamedTuple):
    image: CodeImage
    slug: bytes
    host: bytes
    link: bytes
    """In hex."""


class KnownImages:
    """What images verified URLs show."""

    def __init__(self) -> None:
        self._known: SharedCache[_Url, _Known] = SharedCache(_LIMIT, _LIMIT // 8)

    def add(self, scope: Scope, image: CodeImage, link: UUID, target: CodeTarget, host: str, account: UUID) -> None:
        """Remember a verified URL. `host`: of the link."""
        known = _Known(image, target.slug.encode(), host.encode(), link.hex.encode())
        self._known.put(_url(scope), known, size=1, owner=account)

    def get(self, scope: Scope) -> _Known | None:
        return self._known.get(_url(scope))


class KnownImageResponder:
    """Passes on what it cannot answer: new and changed images, and all errors."""

    def __init__(
        self,
        app: ASGIApp,
        known: KnownImages,
        images: ImageCache,
        routes: RouteTable,
        is_refused: Callable[[Request], bool],
    ) -> None:
        """`is_refused`: whether a request gets no image because it came over plain HTTP."""
        self.app = app
        self._known = known
        self._images = images
        self._routes = routes
        self._is_refused = is_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(_PATH) and await self._respond(scope, send):
            return
        await self.app(scope, receive, send)

    async def _respond(self, scope: Scope, send: Send) -> bool:
        known = self._known.get(scope) if scope["method"] in _METHODS else None
        content = self._images.find(known.image) if known else None
        request = Request(scope)
        if known is None or content is None or self._is_refused(request) or not await self._is_current(known):
            return False
        is_unchanged = is_cached(request, known.image.etag)
        headers = image_headers(known.image, known.slug, None if is_unchanged else len(content))
        await send({"type": "http.response.start", "status": 304 if is_unchanged else 200, "headers": headers})
        body = b"" if is_unchanged or scope["method"] == "HEAD" else content
        await send({"type": "http.response.body", "body": body})
        return True

    async def _is_current(self, known: _Known) -> bool:
        """Return whether the link still has the address in the image, as redirects know it."""
        try:
            route = self._routes.find(known.slug) or await self._routes.load(known.slug)
        except Unavailable:
            return False
        return host_of(route) == known.host and link_of(route) == known.link


def _url(scope: Scope) -> _Url:
    return scope["raw_path"], scope["query_string"]
