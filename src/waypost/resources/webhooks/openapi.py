"""What the OpenAPI document tells of webhooks. Describes; no request comes here."""

from datetime import datetime
from typing import Any, Final, get_args
from uuid import UUID

from pydantic import BaseModel

from waypost.resources.webhooks import model
from waypost.resources.webhooks.schemas import MAX_URL, NewWebhook
from waypost.web.openapi import PAGING, One, Page, endpoint, parameter
from waypost.web.openapi_bodies import request_body


class Webhook(BaseModel):
    id: UUID
    url: str
    event_types: list[model.EventType]
    created_at: datetime
    updated_at: datetime


class WebhookWithSecret(Webhook):
    secret: str


class Delivery(BaseModel):
    id: UUID
    event: str
    status: model.Status
    attempts: int
    next_attempt_at: datetime | None
    response_status: int | None
    error: str | None
    created_at: datetime


_SCOPE: Final = "webhooks:manage"
_EVENTS = get_args(model.EventType)
_DETAILS: dict[str, dict[str, Any]] = {
    "url": {"maxLength": MAX_URL, "pattern": r"^[Hh][Tt][Tt][Pp][Ss]://[^\x00-\x1f\x7f]*$"},
    "event_types": {"minItems": 1, "maxItems": 100},
}
_REQUIRED = {"url", "event_types"}
_NEW = request_body(
    NewWebhook,
    details=_DETAILS,
    required=_REQUIRED,
    never_null=_REQUIRED,
    example={"url": "https://example.com/hooks/waypost", "event_types": ["link.created", "link.clicked"]},
)
_FILTERS = (
    parameter("status", {"type": "string", "enum": list(get_args(model.Status))}, "What has become of the delivery"),
    parameter("event", {"type": "string", "enum": [*_EVENTS, model.TEST]}, "What it tells of"),
)

BROWSE = endpoint("List webhooks", scope=_SCOPE, shows=Page[Webhook], query=PAGING, refuses=[422])
CREATE = endpoint(
    "Subscribe a webhook",
    "The answer has the signing secret, this once.",
    scope=_SCOPE,
    status=201,
    shows=One[WebhookWithSecret],
    takes=_NEW,
    refuses=[413, 422],
)
FIND = endpoint("Get a webhook", scope=_SCOPE, shows=One[Webhook], refuses=[404])
DELETE = endpoint(
    "Delete a webhook",
    "Nothing is sent to it any more, and what waits is cancelled.",
    scope=_SCOPE,
    status=204,
    refuses=[404],
)
BROWSE_DELIVERIES = endpoint(
    "List a webhook's deliveries",
    "Newest first.",
    scope=_SCOPE,
    shows=Page[Delivery],
    query=(*PAGING, *_FILTERS),
    refuses=[404, 422],
)
REDELIVER = endpoint(
    "Send a delivery again",
    "With the same id and body, at once.",
    scope=_SCOPE,
    status=202,
    shows=One[Delivery],
    refuses=[404],
)
ASK_FOR_TEST = endpoint(
    "Send a test event",
    "Whatever the webhook listens to.",
    scope=_SCOPE,
    status=202,
    shows=One[Delivery],
    refuses=[404],
)
