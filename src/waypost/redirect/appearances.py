"""What the pages of a custom domain have of their own. Read when a page is shown, and kept while its host is."""

import json

from waypost.kit.errors import Unavailable
from waypost.redirect.database_calls import DatabaseCalls
from waypost.redirect.pages import PLAIN, Appearance
from waypost.redirect.state import RedirectState


class Appearances:
    def __init__(self, state: RedirectState, database: DatabaseCalls) -> None:
        self._state = state
        self._database = database

    async def find(self, host: bytes) -> Appearance:
        """Return that of all pages for a host that has none, and while the database is not available."""
        if host in self._state.own_hosts:
            return PLAIN
        try:
            route = await self._state.hosts.load(host)
            if not route.has_appearance:
                return PLAIN
            key = host + b"/"
            found = self._state.pages.find(key, route)
            if found is None:  # what is read may be newer than the route
                found = json.dumps(await self._database.appearance(host)).encode()
                self._state.pages.keep(key, route, found)
        except Unavailable:
            return PLAIN
        return Appearance(*json.loads(found))._replace(has_home=bool(route.root))
