"""What web processes run of clicks: lists, statistics and live updates."""

from collections.abc import Callable
from contextlib import AsyncExitStack

from waypost.resources.clicks import api
from waypost.resources.clicks.dashboard.pages import StatsPages
from waypost.resources.clicks.deps import Deps
from waypost.resources.clicks.schemas import ClickEventJson, PixelFiredJson
from waypost.resources.clicks.stats import api as stats_api
from waypost.resources.webhooks.schemas import EventJson
from waypost.web import Endpoints, EventDocs, Guard
from waypost.web.dashboard import SessionAuth, Views

_EVENTS = (
    EventDocs(
        "link.clicked",
        EventJson[ClickEventJson],
        "A person followed a link or scanned its QR code. Bots and prefetches send no event.",
    ),
    EventDocs(
        "pixel.fired",
        EventJson[PixelFiredJson],
        "A pixel fired on the page of a link: one event for each pixel. `visit_id` is the `id` of the click.",
    ),
)


def endpoints(
    deps: Deps,
    guard: Guard,
    auth: SessionAuth,
    views: Views,
    *,
    is_shutting_down: Callable[[], bool],
    stack: AsyncExitStack,
) -> Endpoints:
    stack.push_async_callback(deps.store.close)
    pages = StatsPages(deps, auth, views, is_shutting_down)
    stack.push_async_callback(pages.live.close)
    lists = api.endpoints(deps.db, deps.store, guard, base_url=deps.base_url, clock=deps.clock)
    stats = stats_api.endpoints(deps.db, deps.store, guard, shared_domain=deps.shared_domain, clock=deps.clock)
    return Endpoints([lists, stats], pages.endpoints(), _EVENTS)
