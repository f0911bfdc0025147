"""Webhooks: who wants to hear of what, and the deliveries that tell them. The room's only auth.

ResourceDeps above record what happened in their own transactions; the worker's `Deliverer` sends it.
"""

from waypost.resources.webhooks.delivery.attempt import Sender
from waypost.resources.webhooks.delivery.deliverer import Deliverer
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.leftovers import Leftovers
from waypost.resources.webhooks.log import LogRetention
from waypost.resources.webhooks.outbox import Event, listeners, record, record_all
from waypost.resources.webhooks.receivers import Receivers

__all__ = [
    "Deliverer",
    "Deps",
    "Event",
    "Leftovers",
    "LogRetention",
    "Receivers",
    "Sender",
    "listeners",
    "record",
    "record_all",
]
