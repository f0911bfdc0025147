"""Webhooks: URLs that receive events, and deliveries of these.

Other packages record events in their own transactions; the worker's `deliverer` sends them.
"""

from waypost.resources.webhooks.outbox import WebhookEvent, find_subscribed_webhooks, record, record_all
