"""The parts of clicks: lists, statistics and live updates; the drainer, retention and statistics in the worker."""

from typing import TYPE_CHECKING

from waypost.resource import Resource, Web, Worker
from waypost.resources.clicks import account_export
from waypost.worker.loop import POLL_INTERVAL
from waypost.worker.run import Periodic, WorkerParts

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.clicks import api
    from waypost.resources.clicks.dashboard.pages import StatsPages
    from waypost.resources.clicks.schemas import ClickEventJson, PixelFiredJson
    from waypost.resources.clicks.stats import api as stats_api
    from waypost.resources.webhooks.schemas import EventJson
    from waypost.web import Endpoints, EventDocs

    pages = StatsPages(web.context, web.auth, web.views, web.is_shutting_down)
    web.stack.push_async_callback(pages.live.close)
    clicked = EventDocs(
        "link.clicked",
        EventJson[ClickEventJson],
        "A person followed a link or scanned its QR code. Bots and prefetches send no event.",
    )
    fired = EventDocs(
        "pixel.fired",
        EventJson[PixelFiredJson],
        "A pixel fired on the page of a link: one event for each pixel. `visit_id` is the `id` of the click.",
    )
    return Endpoints([(web.context, api.ENDPOINTS + stats_api.ENDPOINTS)], pages.endpoints(), [clicked, fired])


def _worker_parts(worker: Worker) -> WorkerParts:
    from waypost.resources.clicks.intake.drainers import intake_settings, new_drainer

    settings, db, clock = worker.settings, worker.context.db, worker.context.clock
    drainer = new_drainer(settings, db, settings.data_dir / "spool", intake_settings(settings), worker.stack)
    if settings.clickhouse_url:
        return WorkerParts(periodic=[(POLL_INTERVAL, drainer.step), *_clickhouse_steps(worker)])
    from waypost.resources.clicks.backends.sql.cache_refresher import StatsCacheRefresher
    from waypost.resources.clicks.retention import Retention

    retention, caches = Retention(db, settings.click_retention_days, clock=clock), StatsCacheRefresher(db, clock=clock)
    return WorkerParts(periodic=[(POLL_INTERVAL, drainer.step), (3600, retention.step), (3600, caches.step)])


def _clickhouse_steps(worker: Worker) -> list[Periodic]:
    from waypost.resources.clicks.backends import new_clickhouse_store
    from waypost.resources.clicks.backends.clickhouse.retention import ClickHouseRetention
    from waypost.resources.clicks.backends.clickhouse.visitor_counts import VisitorCounter

    settings, db, clock = worker.settings, worker.context.db, worker.context.clock
    store = new_clickhouse_store(settings)
    worker.stack.push_async_callback(store.close)
    visitors = VisitorCounter(db, store.client, clock=clock)
    retention = ClickHouseRetention(db, store.client, settings.click_retention_days, clock=clock)
    return [(3600, visitors.step), (3600, retention.step)]


RESOURCE = Resource(
    templates={"clicks": "waypost.resources.clicks"},
    endpoints=_endpoints,
    worker_parts=_worker_parts,
    export=account_export.export,
)
