"""The parts of clicks: lists, statistics and live updates; the drainer, retention and statistics in the worker."""

from typing import TYPE_CHECKING

from waypost.resource import Resource, Web, Worker
from waypost.resources.clicks import export
from waypost.worker.loop import POLL_INTERVAL
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.clicks import api
    from waypost.resources.clicks.dashboard.pages import StatsPages
    from waypost.resources.clicks.schemas import ClickEventJson, PixelFiredJson
    from waypost.resources.clicks.stats import api as stats_api
    from waypost.resources.saved_views import service as saved_views
    from waypost.resources.webhooks.schemas import EventJson
    from waypost.web import Endpoints, EventDocs

    pages = StatsPages(web.context, web.auth, web.views, saved_views.list_views, web.is_shutting_down)
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
    from waypost.resources.clicks.intake.build import intake_settings

    settings, db, clock, store = worker.settings, worker.context.db, worker.context.clock, worker.context.click_store
    drainer = store.new_drainer(db, settings.data_dir / "spool", intake_settings(settings))
    worker.stack.push_async_callback(drainer.close)
    hourly = [(3600, step) for step in store.hourly_steps(db, settings.click_retention_days, clock)]
    return WorkerParts(periodic=[(POLL_INTERVAL, drainer.step), *hourly], handlers=store.handlers(db, clock))


RESOURCE = Resource(
    templates={"clicks": "waypost.resources.clicks"},
    endpoints=_endpoints,
    worker_parts=_worker_parts,
    export=export.export_account,
)
