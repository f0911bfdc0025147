"""What the pages of a custom domain have of their own. Read when a page is shown, and kept while its host is."""

from waypost.kit.errors import Unavailable
from waypost.redirect.database_calls import DatabaseCalls
from waypost.redirect.page_cache import PageCache
from waypost.redirect.pages import PLAIN, Appearance
from waypost.redirect.state import RedirectState

_MAX_BYTES = 1 << 20


class Appearances:
    def __init__(self, state: RedirectState, database: DatabaseCalls) -> None:
        self._state = state
        self._database = database
        self._kept = PageCache[Appearance](_size_of, _MAX_BYTES)

    async def find(self, host: bytes) -> Appearance:
        """Return that of all pages for a host that has none, and while the database is not available."""
        if host in self._state.own_hosts:
            return PLAIN
        try:
            route = await self._state.hosts.load(host)
            if not route.has_appearance:
                return PLAIN
            found = self._kept.find(host, route)
            if found is None:  # what is read may be newer than the route
                found = await self._database.appearance(host)
                self._kept.keep(host, route, found)
        except Unavailable:
            return PLAIN
        return found._replace(has_home=bool(route.root))


def _size_of(appearance: Appearance) -> int:
    return sum(len(value) for value in appearance if isinstance(value, str))
