"""Responses where no link resolves: fallbacks, the pages of a custom domain, its app links, and 404."""

from hashlib import blake2b

from starlette.types import Send

from waypost.redirect import metrics, pages
from waypost.redirect.app_links import APPLE_PATH, GOOGLE_PATH, AppLinksCache
from waypost.redirect.asgi_messages import send_not_modified, send_response
from waypost.redirect.database_calls import Finders
from waypost.redirect.route import DISABLED, EXPIRES_AT, LINK_ID, LOCATION, MISSING, NO_ID, ROUTED, TARGET, Route
from waypost.redirect.state import REDIRECT_HEADERS, RedirectState

_WELL_KNOWN = b".well-known"
_JSON_HEADERS = [(b"content-type", b"application/json"), (b"cache-control", b"public, max-age=300")]


def fallback_of(route: Route) -> bytes | None:
    """Return where visitors of a link are sent that does not resolve now."""
    routed = route[ROUTED]
    return routed.fallback if routed and route[EXPIRES_AT] != DISABLED else None


class MissingResponder:
    def __init__(self, state: RedirectState, finders: Finders) -> None:
        self._state = state
        self._finders = finders
        self._app_links = AppLinksCache()

    async def respond(
        self,
        send: Send,
        host: bytes,
        path: bytes,
        headers: dict[bytes, bytes],
        fallback: bytes | None = None,
        *,
        with_body: bool,
    ) -> None:
        """Redirect to the link's fallback, and `/` and unknown slugs if the custom domain does so.

        An unknown host gets an empty 404. Raises Unavailable before it sends anything.

        Never redirect below `/.well-known/`: an authority that follows would verify the domain for the target.
        """
        if host in self._state.own_hosts:
            is_for_links, target = host == self._state.shared_host, b""
        else:
            route = await self._state.hosts.load(host)
            is_for_links = route is not MISSING
            root, _, not_found = route[TARGET][LOCATION].partition(b" ")
            target = not_found if path else root
            if path.partition(b"/")[0].lower() == _WELL_KNOWN:
                is_for_links, target = False, b""
                document = await self._find_app_links(host, route, path)
                if document:
                    await _send_app_links(send, document, headers, with_body=with_body)
                    return
        metrics.NOT_FOUND[0] += 1
        if fallback or target:
            await send_response(send, 302, [*REDIRECT_HEADERS, (b"location", fallback or target)])
        elif is_for_links:
            await send_response(send, 404, list(pages.HEADERS), pages.NOT_FOUND, with_body=with_body)
        else:
            await send_response(send, 404, [])

    async def _find_app_links(self, host: bytes, route: Route, path: bytes) -> bytes | None:
        """Raises Unavailable."""
        version = route[TARGET][LINK_ID]
        if route is MISSING or version == NO_ID or path not in {APPLE_PATH, GOOGLE_PATH}:
            return None
        found = self._app_links.find(version)
        if found is None:
            found = await self._finders.app_links(host)  # newer than the route if they have just changed
            if found is None:
                return None
            self._app_links.keep(found)
        return found.documents.get(path)


async def _send_app_links(send: Send, document: bytes, headers: dict[bytes, bytes], *, with_body: bool) -> None:
    metrics.APP_LINKS[0] += 1
    etag = b'"%s"' % blake2b(document, digest_size=16).hexdigest().encode()
    sent_headers = [*_JSON_HEADERS, (b"etag", etag)]
    if etag in headers.get(b"if-none-match", b""):
        await send_not_modified(send, sent_headers)
    else:
        await send_response(send, 200, sent_headers, document, with_body=with_body)
