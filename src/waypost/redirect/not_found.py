"""Responses where no link resolves: fallbacks, the pages of a custom domain, its app links, and 404."""

from hashlib import blake2b

from waypost.redirect import metrics, pages
from waypost.redirect.appearances import Appearances
from waypost.redirect.database_calls import DatabaseCalls
from waypost.redirect.decision import ended_kind
from waypost.redirect.exchange import Exchange
from waypost.redirect.route import APPLE_PATH, GOOGLE_PATH, LOGO_PATH, MISSING, NO_HOST, HostRoute, Route
from waypost.redirect.state import REDIRECT_HEADERS, RedirectState

_WELL_KNOWN = b".well-known"
_CACHED = (b"cache-control", b"public, max-age=300")


class NotFoundResponder:
    def __init__(self, state: RedirectState, database: DatabaseCalls, appearances: Appearances) -> None:
        self._state = state
        self._database = database
        self._appearances = appearances

    async def respond(self, exchange: Exchange, path: bytes, link: Route, fallback: bytes | None = None) -> None:
        """Redirect to the link's fallback, and `/` and unknown slugs if the custom domain does so.

        `link`: MISSING if none has the address. An unknown host gets an empty 404. Raises Unavailable before it sends
        anything.

        Never redirect below `/.well-known/`: an authority that follows would verify the domain for its location.
        """
        host = exchange.host
        if host in self._state.own_hosts:
            is_for_links, location = host == self._state.shared_host, b""
        else:
            route = await self._state.hosts.load(host)
            is_for_links, location = route is not NO_HOST, route.not_found if path else route.root
            if path.partition(b"/")[0].lower() == _WELL_KNOWN:
                is_for_links, location = False, b""
                document = await self._find_document(host, route, path)
                if document:
                    await _send_document(exchange, path, document)
                    return
        metrics.NOT_FOUND[0] += 1
        is_noted = link is MISSING and is_for_links and exchange.is_get
        if is_noted and self._state.is_person(exchange.headers.get(b"user-agent", b"")):
            self._state.missed.note(host, path)
        if fallback or location:
            await exchange.respond(302, [*REDIRECT_HEADERS, (b"location", fallback or location)])
        elif is_for_links:
            appearance = await self._appearances.find(host)
            page = pages.ended_page(ended_kind(link, self._state.now), appearance)
            await exchange.respond(404, pages.headers(pages.ended_style(appearance)), page)
        else:
            await exchange.respond(404)

    async def _find_document(self, host: bytes, route: HostRoute, path: bytes) -> bytes | None:
        """Raises Unavailable."""
        is_logo = route.has_appearance and path == LOGO_PATH
        if not is_logo and not (route.has_app_links and path in {APPLE_PATH, GOOGLE_PATH}):
            return None
        key = host + b"/" + path
        document = self._state.pages.find(key, route)
        if document is None:  # what is read may be newer than the route
            links = {} if is_logo else await self._database.app_links(host)
            document = await self._database.logo(host) if is_logo else links.get(path, b"")
            self._state.pages.keep(key, route, document)
        return document


async def _send_document(exchange: Exchange, path: bytes, document: bytes) -> None:
    metrics.APP_LINKS[0] += path != LOGO_PATH
    type_ = b"image/png" if path == LOGO_PATH else b"application/json"
    etag = b'"%s"' % blake2b(document, digest_size=16).hexdigest().encode()
    is_known = etag in exchange.headers.get(b"if-none-match", b"")
    headers = [(b"content-type", type_), _CACHED, (b"etag", etag)]
    await exchange.respond(304 if is_known else 200, headers, b"" if is_known else document)
