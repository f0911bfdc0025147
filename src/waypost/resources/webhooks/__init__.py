"""Webhooks: URLs that receive events, and deliveries of these.

Other packages record events in their own transactions; the worker's `Deliverer` sends them.
"""

from waypost.resources.webhooks.account_data import delete_account_data, export_account_data
from waypost.resources.webhooks.deliverer import Deliverer
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.endpoint_checker import EndpointChecker
from waypost.resources.webhooks.outbox import WebhookEvent, find_subscribed_webhooks, record, record_all
from waypost.resources.webhooks.retention import cancel_orphaned_deliveries, delete_old_deliveries, log_retention

__all__ = [
    "Deliverer",
    "Deps",
    "EndpointChecker",
    "WebhookEvent",
    "cancel_orphaned_deliveries",
    "delete_account_data",
    "delete_old_deliveries",
    "export_account_data",
    "find_subscribed_webhooks",
    "log_retention",
    "record",
    "record_all",
]
