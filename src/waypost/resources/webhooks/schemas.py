"""Request fields of webhooks, and the JSON of webhooks and deliveries."""

from typing import Annotated, ClassVar, Generic, Literal, TypeVar, get_args

from pydantic import AfterValidator
from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.fields import (
    URI,
    Body,
    Documented,
    IdText,
    Text,
    TimestampText,
    UriText,
    max_characters,
    max_entries,
)
from waypost.resources.webhooks.model import Delivery, DeliveryEventType, DeliveryStatus, EventType, Webhook

T = TypeVar("T")

MAX_URL = 2048
TOO_LONG = f"This must have at most {MAX_URL:,} characters."


def _unique(types: list[EventType]) -> list[EventType]:
    """Return each type once, in the order of their first occurrence. Raises ValueError if there is none."""
    if not types:
        raise ValueError("Select at least one event type.")
    return list(dict.fromkeys(types))


HttpsUrl = Annotated[
    Text, max_characters(MAX_URL), URI, Documented({"pattern": r"^[Hh][Tt][Tt][Pp][Ss]://[^\x00-\x1f\x7f]*$"})
]
EventTypes = Annotated[list[EventType], max_entries(100), Documented({"minItems": 1}, AfterValidator(_unique))]


class NewWebhook(Body):
    REQUIRED = ("url", "event_types")
    EXAMPLE: ClassVar = {"url": "https://example.com/hooks/waypost", "event_types": ["link.created", "link.clicked"]}

    url: HttpsUrl | None = None
    event_types: EventTypes | None = None


class WebhookJson(TypedDict):
    id: IdText
    url: UriText
    event_types: list[EventType]
    created_at: TimestampText
    updated_at: TimestampText


class CreatedWebhookJson(WebhookJson):
    secret: str


class DeliveryJson(TypedDict):
    id: IdText
    event: Annotated[str, Documented({"enum": list(get_args(DeliveryEventType))})]
    status: DeliveryStatus
    attempts: int
    next_attempt_at: TimestampText | None
    response_status: int | None
    error: str | None
    created_at: TimestampText


class EventJson(TypedDict, Generic[T]):
    """What is sent to a webhook."""

    id: IdText
    api_version: Literal["v1"]
    event: str
    created_at: TimestampText
    data: T


class TestEventJson(TypedDict):
    webhook_id: IdText


def to_json(webhook: Webhook) -> WebhookJson:
    """Leave out the secret: only the response to the creation has it."""
    return {
        "id": str(webhook.id),
        "url": webhook.url,
        "event_types": webhook.event_types,
        "created_at": timestamp(webhook.created_at),
        "updated_at": timestamp(webhook.updated_at),
    }


def delivery_to_json(delivery: Delivery) -> DeliveryJson:
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
