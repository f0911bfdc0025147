"""The parts of pixels: events that the worker sends to platforms among them."""

from functools import partial
from typing import TYPE_CHECKING

from waypost.resource import Resource, Web, Worker
from waypost.resources.pixels import account_data
from waypost.resources.pixels.model import pixels
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.pixels import api, pages
    from waypost.web import Endpoints

    of_pages = pages.PixelPages(web.context, web.auth, web.views).endpoints()
    return Endpoints([(web.context, api.ENDPOINTS)], of_pages)


def _worker_parts(worker: Worker) -> WorkerParts:
    from waypost.resources.pixels import events

    settings, context = worker.settings, worker.context
    urls = {"facebook": settings.meta_url, "tiktok": settings.tiktok_url, "pinterest": settings.pinterest_url}
    api_urls = {platform: str(url) for platform, url in urls.items()}
    sender = events.EventSender(context.db, context.key_ring, worker.poster.post, api_urls, clock=context.clock)
    return WorkerParts(
        periodic=[
            (events.BATCH_DELAY, partial(events.enqueue_batches, context.db, clock=context.clock)),
            (10, partial(events.delete_unsendable, context.db, clock=context.clock)),
        ],
        handlers=dict.fromkeys(events.JOBS.values(), sender.send),
    )


RESOURCE = Resource(
    templates={"pixels": "waypost.resources.pixels"},
    endpoints=_endpoints,
    worker_parts=_worker_parts,
    exported_rows={"pixels.ndjson": account_data.read_pixels},
    deleted_rows=[pixels],
)
