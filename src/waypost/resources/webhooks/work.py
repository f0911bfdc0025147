"""What the worker runs of webhooks: deliveries, and their retention."""

from functools import partial

from waypost.database import Database, KeyRing
from waypost.kit.clock import now
from waypost.outbound import Poster
from waypost.resources.webhooks.deliverer import Deliverer
from waypost.resources.webhooks.retention import cancel_orphaned_deliveries, delete_old_deliveries, log_retention
from waypost.settings import Settings
from waypost.worker.run import WorkerParts


def worker_parts(settings: Settings, db: Database, poster: Poster, key_ring: KeyRing) -> WorkerParts:
    timeout, backoff = settings.webhook_timeout, settings.webhook_backoff
    deliverer = Deliverer(poster.post, key_ring, clock=now, timeout=timeout, backoff=backoff)
    retention = log_retention(settings.click_retention_days)
    return WorkerParts(
        [deliverer],
        [
            (3600, partial(delete_old_deliveries, db, retention, clock=now)),
            (5, partial(cancel_orphaned_deliveries, db)),
        ],
    )
