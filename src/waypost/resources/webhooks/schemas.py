"""What may be sent for a subscription, by type and length, and how subscriptions and deliveries are shown."""

from typing import Annotated, Any

from pydantic import AfterValidator

from waypost.kit.clock import timestamp
from waypost.kit.fields import Body, Text, max_entries
from waypost.resources.webhooks.model import Delivery, EventType, Webhook

MAX_URL = 2048
TOO_LONG = f"This may have at most {MAX_URL} characters."


def _not_too_long(text: str) -> str:
    if len(text) > MAX_URL:
        raise ValueError(TOO_LONG)
    return text


def _some(types: list[EventType]) -> list[EventType]:
    """Each once, at its first place."""
    if not types:
        raise ValueError("This must have at least 1 entry.")
    return list(dict.fromkeys(types))


class NewWebhook(Body):
    url: Annotated[Text, AfterValidator(_not_too_long)] | None = None
    event_types: Annotated[list[EventType], max_entries(100), AfterValidator(_some)] | None = None


def shown(webhook: Webhook) -> dict[str, Any]:
    """Without the secret, which only the answer to its creation has."""
    return {
        "id": str(webhook.id),
        "url": webhook.url,
        "event_types": webhook.event_types,
        "created_at": timestamp(webhook.created_at),
        "updated_at": timestamp(webhook.updated_at),
    }


def shown_delivery(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": str(delivery.id),
        "event": delivery.event,
        "status": delivery.status,
        "attempts": delivery.attempts,
        "next_attempt_at": timestamp(delivery.next_attempt_at) if delivery.next_attempt_at else None,
        "response_status": delivery.response_status,
        "error": delivery.error,
        "created_at": timestamp(delivery.created_at),
    }
