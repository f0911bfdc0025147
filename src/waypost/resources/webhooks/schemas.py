"""Request fields of webhooks, and the JSON of webhooks and deliveries."""

from typing import Annotated, ClassVar, Generic, Literal, TypeVar, get_args

from pydantic import AfterValidator
from typing_extensions import TypedDict

from waypost.kit.docs import doc, field
from waypost.kit.fields import MAX_URL, Body, Documented, IdText, TimestampText, UriText, UrlText, max_entries
from waypost.kit.json_object import json_object
from waypost.resources.webhooks.model import Delivery, DeliveryEventType, DeliveryStatus, EventType, Webhook

T = TypeVar("T")

TOO_LONG = f"This must have at most {MAX_URL:,} characters."


def _unique(types: list[EventType]) -> list[EventType]:
    """Return each type once, in the order of their first occurrence. Raises ValueError if there is none."""
    if not types:
        raise ValueError("Select at least one event type.")
    return list(dict.fromkeys(types))


ReceiverUrl = Annotated[UrlText, Documented({"pattern": r"^[Hh][Tt][Tt][Pp][Ss]://[^\x00-\x1f\x7f]*$"})]
EventTypes = Annotated[list[EventType], max_entries(100), Documented({"minItems": 1}, AfterValidator(_unique))]


class NewWebhook(Body):
    REQUIRED = ("url", "event_types")
    EXAMPLE: ClassVar = {"url": "https://example.com/hooks/waypost", "event_types": ["link.created", "link.clicked"]}

    url: ReceiverUrl | None = field("https:// URL that receives the events")
    event_types: EventTypes | None = field("Event types that are delivered")


class WebhookJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-7a10-7e55-8c1d-2f6d8b9a4c21")]
    url: Annotated[UriText, doc("https:// URL that receives the events", "https://hooks.example.com/waypost")]
    event_types: Annotated[list[EventType], doc("Event types that are delivered", ["link.created", "link.clicked"])]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]
    updated_at: Annotated[TimestampText, doc("Time of the last change", "2026-11-20T02:56:16.123456Z")]


class CreatedWebhookJson(WebhookJson):
    secret: Annotated[str, doc("Signing secret. It is returned only once.", "whsec_…")]


class DeliveryJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    event: Annotated[
        str,
        Documented({"enum": list(get_args(DeliveryEventType))}),
        doc("Event type, such as `link.created`", "link.clicked"),
    ]
    status: Annotated[DeliveryStatus, doc("Status of the delivery")]
    attempts: Annotated[int, doc("Number of attempts so far", 2)]
    next_attempt_at: Annotated[
        TimestampText | None, doc("Time of the next attempt; null if there is none", "2026-11-20T02:57:56.204113Z")
    ]
    response_status: Annotated[int | None, doc("HTTP status of the last response; null if there was none", 503)]
    error: Annotated[str | None, doc("Why the last attempt failed; null if it did not", "answered 503")]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]


class EventJson(TypedDict, Generic[T]):
    """What is sent to a webhook."""

    id: Annotated[
        IdText,
        doc(
            "ID of the delivery: the same in each attempt, another for each webhook",
            "01a1fbb2-9c42-7c11-b0d5-6a7e8f901234",
        ),
    ]
    api_version: Annotated[Literal["v1"], doc("Version of the format", "v1")]
    event: Annotated[str, doc("Event type, such as `link.created`", "link.clicked")]
    created_at: Annotated[TimestampText, doc("Time of the event, in UTC", "2026-11-20T02:56:16+00:00")]
    data: Annotated[T, doc("What happened")]


class TestEventJson(TypedDict):
    webhook_id: Annotated[IdText, doc("ID of the webhook", "01a1fbb2-7a10-7e55-8c1d-2f6d8b9a4c21")]


def to_json(webhook: Webhook) -> WebhookJson:
    """Leave out the secret: only the response to the creation has it."""
    return json_object(WebhookJson, webhook)


def delivery_to_json(delivery: Delivery) -> DeliveryJson:
    return json_object(DeliveryJson, delivery)
