"""JSON endpoints of webhooks."""

from operator import attrgetter
from typing import Final, cast, get_args
from uuid import UUID

from starlette.requests import Request

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.kit.pagination import Page, PageRequest
from waypost.kit.versions import Version
from waypost.resources.webhooks import service
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.model import DeliveryEventType, DeliveryFilter, DeliveryStatus, Webhook
from waypost.resources.webhooks.schemas import (
    CreatedWebhookJson,
    DeliveryJson,
    NewWebhook,
    WebhookJson,
    delivery_to_json,
    to_json,
)
from waypost.web import PAGING, Data, Endpoint, Paginated, Representation, parameter, read_pagination, read_query

_SCOPE: Final = "webhooks:manage"
_ONE = "/webhooks/{id}"
_DELIVERIES = f"{_ONE}/deliveries"
_REDELIVER = f"{_DELIVERIES}/{{delivery_id}}/redeliver"
_CHOICES = {"status": get_args(DeliveryStatus), "event": get_args(DeliveryEventType)}
_PARAMETERS = (
    *PAGING,
    parameter("status", {"type": "string", "enum": [*_CHOICES["status"]]}, "Status of the delivery"),
    parameter("event", {"type": "string", "enum": [*_CHOICES["event"]]}, "Type of the event"),
)


async def list_(deps: Deps, caller: Caller, page: PageRequest) -> Page[WebhookJson]:
    """Newest first, without their secrets."""
    return (await service.list_webhooks(deps, caller, page)).map(to_json)


async def create(deps: Deps, caller: Caller, new: NewWebhook, problems: Problems) -> CreatedWebhookJson:
    """The response has the signing secret, which is never shown again."""
    webhook, secret = await service.create(deps, caller, new, problems)
    return {**to_json(webhook), "secret": secret}


async def get(deps: Deps, caller: Caller, webhook_id: UUID) -> Webhook:
    """Without its secret. A webhook cannot be changed: delete it and create another one."""
    return await service.get(deps, caller, webhook_id)


async def delete(deps: Deps, caller: Caller, webhook_id: UUID) -> None:
    """Its pending deliveries are canceled."""
    await service.delete(deps, caller, webhook_id)


async def list_deliveries(deps: Deps, caller: Caller, webhook_id: UUID, request: Request) -> Page[DeliveryJson]:
    """Newest first."""
    problems = Problems()
    pagination, filters = read_pagination(request, problems), _read_filters(request, problems)
    problems.raise_if_any()
    return (await service.list_deliveries(deps, caller, webhook_id, filters, pagination)).map(delivery_to_json)


async def redeliver(deps: Deps, caller: Caller, webhook_id: UUID, delivery_id: UUID) -> DeliveryJson:
    """Sends it immediately with the same id and body."""
    return delivery_to_json(await service.redeliver(deps, caller, webhook_id, delivery_id))


async def send_test(deps: Deps, caller: Caller, webhook_id: UUID) -> DeliveryJson:
    """Sent regardless of the webhook's event types."""
    return delivery_to_json(await service.send_test(deps, caller, webhook_id))


def _read_filters(request: Request, problems: Problems) -> DeliveryFilter:
    query = read_query(request)
    values = {name: query.get(name) for name in _CHOICES}
    for name, choices in _CHOICES.items():
        if values[name] not in {None, *choices}:
            problems.add(name, f"This must be one of: {', '.join(choices)}.")
    return DeliveryFilter(status=cast("DeliveryStatus | None", values["status"]), event=values["event"])


_SHOWN = Representation(lambda webhook, *_: to_json(webhook), Version(attrgetter("url", "event_types", "updated_at")))
ENDPOINTS = [
    Endpoint("GET", "/webhooks", list_, "List webhooks", _SCOPE, Paginated[WebhookJson], parameters=PAGING),
    Endpoint("POST", "/webhooks", create, "Create a webhook", _SCOPE, Data[CreatedWebhookJson], 201, body=NewWebhook),
    Endpoint("GET", _ONE, get, "Get a webhook", _SCOPE, Data[WebhookJson], shows=_SHOWN),
    Endpoint("DELETE", _ONE, delete, "Delete a webhook", _SCOPE, status=204, shows=_SHOWN),
    Endpoint(
        "GET",
        _DELIVERIES,
        list_deliveries,
        "List a webhook's deliveries",
        _SCOPE,
        Paginated[DeliveryJson],
        parameters=_PARAMETERS,
    ),
    Endpoint("POST", _REDELIVER, redeliver, "Redeliver an event", _SCOPE, Data[DeliveryJson], 202),
    Endpoint("POST", f"{_ONE}/test", send_test, "Send a test event", _SCOPE, Data[DeliveryJson], 202),
]
