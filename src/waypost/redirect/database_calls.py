"""What responses that are not redirects need of the database. Few calls run at once."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from starlette.types import Scope

from waypost.kit.fair_queue import FairQueue
from waypost.redirect.pages import Appearance
from waypost.redirect.report_pages import LinkReport

FindPage = Callable[[bytes], Awaitable[bytes | None]]
"""Return a page by the link's id in 32 hex digits. None if the link is gone. Raises Unavailable."""

FindInfoPage = Callable[[bytes, Appearance], Awaitable[bytes | None]]
"""As FindPage, on a domain with an appearance."""

FindPasswordVersion = Callable[[bytes, str, Scope], Awaitable[int | None]]
"""Return the version of a link's password, None if the password sent is wrong. Raises RateLimited and Unavailable."""

StoreReport = Callable[[bytes, LinkReport, Scope], Awaitable[None]]
"""Store a report about a link, or drop it if there are too many. Raises Unavailable."""

_CONCURRENT = 4
"""Each queries the database: many of them must not slow down the API and the dashboard."""
_MAX_WAITING = 64
"""Of each kind. Further bots are redirected, further requests of other kinds get 503."""
_LIMITED = ("preview", "info_page", "app_links", "appearance", "logo", "store_report")


@dataclass(frozen=True, slots=True)
class DatabaseCalls:
    """All raise Unavailable."""

    preview: FindPage
    info_page: FindInfoPage
    app_links: Callable[[bytes], Awaitable[Mapping[bytes, bytes]]]
    """Return the app links of a served host by path."""
    appearance: Callable[[bytes], Awaitable[Appearance]]
    """Return what the pages of a served host have of their own."""
    logo: Callable[[bytes], Awaitable[bytes]]
    """Return the logo of a served host, a PNG. Empty if there is none."""
    password_version: FindPasswordVersion
    store_report: StoreReport

    def limited(self) -> Self:
        """Return the same calls, which also raise Unavailable if too many wait."""
        queue = FairQueue(
            _CONCURRENT,
            per_key=_CONCURRENT,
            max_waiting=len(_LIMITED) * _MAX_WAITING,
            max_waiting_per_key=_MAX_WAITING,
        )

        def limit(name: str) -> Callable[..., Awaitable[Any]]:
            async def call(*arguments: object) -> Any:
                async with queue.slot(name):
                    return await getattr(self, name)(*arguments)

            return call

        return replace(self, **{name: limit(name) for name in _LIMITED})
