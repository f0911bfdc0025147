"""Calls of the database for responses that are not redirects. Few run at once."""

from collections.abc import Awaitable, Callable, Mapping

from starlette.types import Receive, Scope

from waypost.kit.errors import RateLimited, Unavailable
from waypost.kit.fair_queue import FairQueue
from waypost.redirect import password_pages
from waypost.redirect.report_pages import LinkReport

FindPage = Callable[[bytes], Awaitable[bytes | None]]
"""Return a page by the link's id in 32 hex digits. None if the link is gone. Raises Unavailable."""

FindAppLinks = Callable[[bytes], Awaitable[Mapping[bytes, bytes]]]
"""Return the app links of a served host by path. Raises Unavailable."""

FindPasswordVersion = Callable[[bytes, str, Scope], Awaitable[int | None]]
"""Return the version of a link's password, None if the password sent is wrong. Raises RateLimited and Unavailable."""

StoreReport = Callable[[bytes, LinkReport, Scope], Awaitable[None]]
"""Store a report about a link, or drop it if there are too many. Raises Unavailable."""

_CONCURRENT = 4
"""Each queries the database: many of them must not slow down the API and the dashboard."""
_MAX_WAITING = 64
"""Of each kind. Further bots are redirected, further requests of other kinds get 503."""
_KINDS = 4


class DatabaseCalls:
    def __init__(
        self,
        *,
        preview: FindPage,
        info_page: FindPage,
        app_links: FindAppLinks,
        password_version: FindPasswordVersion,
        store_report: StoreReport,
    ) -> None:
        self._store_report = store_report
        self._password_version = password_version
        self._preview = preview
        self._info_page = info_page
        self._app_links = app_links
        self._queue = FairQueue(
            _CONCURRENT, per_key=_CONCURRENT, max_waiting=_KINDS * _MAX_WAITING, max_waiting_per_key=_MAX_WAITING
        )

    async def preview(self, link_id: bytes) -> bytes | None:
        """Raises Unavailable, also if too many wait."""
        async with self._queue.slot("bot"):
            return await self._preview(link_id)

    async def info_page(self, link_id: bytes) -> bytes | None:
        """Raises Unavailable, also if too many wait."""
        async with self._queue.slot("info"):
            return await self._info_page(link_id)

    async def store_report(self, link_id: bytes, report: LinkReport, scope: Scope) -> None:
        """Raises Unavailable, also if too many wait."""
        async with self._queue.slot("report"):
            await self._store_report(link_id, report, scope)

    async def app_links(self, host: bytes) -> Mapping[bytes, bytes]:
        """Raises Unavailable, also if too many wait."""
        async with self._queue.slot("app_links"):
            return await self._app_links(host)

    async def check_password(self, scope: Scope, receive: Receive, link_id: bytes) -> int | str:
        """Return the version of the password that was sent, or the message if it is not accepted."""
        password = await password_pages.read_password(receive)
        try:
            version = await self._password_version(link_id, password, scope) if password else None
        except RateLimited:
            return password_pages.TOO_MANY
        except Unavailable:
            return password_pages.BUSY
        return password_pages.WRONG if version is None else version
