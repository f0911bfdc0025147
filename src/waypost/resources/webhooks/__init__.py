"""Webhooks: subscriptions to events, and their deliveries.

Other packages record events in their own transactions; the worker's `Deliverer` sends them.
"""

from waypost.resources.webhooks.deliverer import Deliverer
from waypost.resources.webhooks.deps import Deps, Receivers
from waypost.resources.webhooks.outbox import WebhookEvent, listeners, record, record_all
from waypost.resources.webhooks.retention import (
    cancel_orphaned_deliveries,
    delete_all_for,
    delete_old_deliveries,
    log_retention,
)
from waypost.resources.webhooks.service import export

__all__ = [
    "Deliverer",
    "Deps",
    "Receivers",
    "WebhookEvent",
    "cancel_orphaned_deliveries",
    "delete_all_for",
    "delete_old_deliveries",
    "export",
    "listeners",
    "log_retention",
    "record",
    "record_all",
]
