"""The parts of webhooks: deliveries, and their retention, in the worker."""

from functools import partial
from typing import TYPE_CHECKING

from waypost.resource import Resource, Web, Worker
from waypost.resources.webhooks import account_data
from waypost.worker.run import WorkerParts

if TYPE_CHECKING:
    from waypost.web import Endpoints


def _endpoints(web: Web) -> "Endpoints":
    from waypost.resources.webhooks import api, pages
    from waypost.resources.webhooks.deps import Deps
    from waypost.resources.webhooks.model import TEST
    from waypost.resources.webhooks.receiver_checker import ReceiverChecker
    from waypost.resources.webhooks.schemas import EventJson, TestEventJson
    from waypost.web import Endpoints, EventDocs

    deps = Deps(**vars(web.context), receiver_checker=ReceiverChecker(web.context.outbound))
    test = EventDocs(TEST, EventJson[TestEventJson], "You requested a test. No webhook can subscribe to it.")
    return Endpoints([(deps, api.ENDPOINTS)], pages.WebhookPages(deps, web.auth, web.views).endpoints(), [test])


def _worker_parts(worker: Worker) -> WorkerParts:
    from waypost.resources.webhooks.deliverer import Deliverer
    from waypost.resources.webhooks.retention import cancel_orphaned_deliveries, delete_old_deliveries, log_retention

    settings, db, clock = worker.settings, worker.context.db, worker.context.clock
    timeout, backoff = settings.webhook_timeout, settings.webhook_backoff
    deliverer = Deliverer(worker.poster.post, worker.context.key_ring, clock=clock, timeout=timeout, backoff=backoff)
    retention = log_retention(settings.click_retention_days)
    return WorkerParts(
        [deliverer],
        [
            (3600, partial(delete_old_deliveries, db, retention, clock=clock)),
            (5, partial(cancel_orphaned_deliveries, db)),
        ],
    )


RESOURCE = Resource(
    templates={"webhooks": "waypost.resources.webhooks"},
    endpoints=_endpoints,
    worker_parts=_worker_parts,
    exported_rows={"webhooks.ndjson": account_data.read_webhooks},
    delete=account_data.delete_account_data,
)
