"""JSON endpoints of webhooks."""

from typing import Annotated, cast, get_args
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from fastapi import Path as PathParameter

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.kit.ids import require_id
from waypost.resources.webhooks import service
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.model import DeliveryEventType, DeliveryFilter, DeliveryStatus
from waypost.resources.webhooks.schemas import (
    CreatedWebhookJson,
    DeliveryJson,
    NewWebhook,
    WebhookJson,
    delivery_to_json,
    to_json,
)
from waypost.web import (
    PAGING,
    Data,
    Guard,
    Paginated,
    ParsedBody,
    PathId,
    data,
    new_router,
    no_content,
    paginated,
    parameter,
    query_parameters,
    read_pagination,
    read_query,
    require_pagination,
)

_ONE = "/{id}"
_DELIVERIES = "/{id}/deliveries"
_REDELIVER = "/{id}/deliveries/{delivery_id}/redeliver"
_TEST = "/{id}/test"
_CHOICES = {"status": get_args(DeliveryStatus), "event": get_args(DeliveryEventType)}
_FILTERS = (
    parameter("status", {"type": "string", "enum": [*_CHOICES["status"]]}, "Status of the delivery"),
    parameter("event", {"type": "string", "enum": [*_CHOICES["event"]]}, "Type of the event"),
)


async def _path_delivery_id(delivery_id: Annotated[str, PathParameter(json_schema_extra={"format": "uuid"})]) -> UUID:
    return require_id(delivery_id)


PathDeliveryId = Annotated[UUID, Depends(_path_delivery_id)]
NewWebhookBody = Annotated[tuple[NewWebhook, Problems], Depends(ParsedBody(NewWebhook))]


def endpoints(deps: Deps, guard: Guard) -> APIRouter:
    router = new_router("webhooks", "/webhooks")
    # the first parameter of each endpoint: the body of a caller without permission is not read
    AllowedCaller = Annotated[Caller, Depends(guard.allow("webhooks:manage"))]  # noqa: N806  # a type

    @router.get(
        "",
        name="list",
        summary="List webhooks",
        response_model=Paginated[WebhookJson],
        openapi_extra=query_parameters(*PAGING),
    )
    async def list_webhooks(caller: AllowedCaller, request: Request) -> Response:
        """Newest first, without their secrets."""
        page = await service.list_webhooks(deps, caller, require_pagination(request))
        return paginated(page.map(to_json), request, deps.base_url)

    @router.post("", summary="Create a webhook", status_code=201, response_model=Data[CreatedWebhookJson])
    async def create(caller: AllowedCaller, body: NewWebhookBody) -> Response:
        """The response has the signing secret, which is never shown again."""
        webhook, secret = await service.create(deps, caller, *body)
        created: CreatedWebhookJson = {**to_json(webhook), "secret": secret}
        return data(created, 201)

    @router.get(_ONE, name="get", summary="Get a webhook", response_model=Data[WebhookJson])
    async def get(caller: AllowedCaller, webhook_id: PathId) -> Response:
        """Without its secret. A webhook cannot be changed: delete it and create another one."""
        return data(to_json(await service.get(deps, caller, webhook_id)))

    @router.delete(_ONE, summary="Delete a webhook", status_code=204)
    async def delete(caller: AllowedCaller, webhook_id: PathId) -> Response:
        """Its pending deliveries are canceled."""
        await service.delete(deps, caller, webhook_id)
        return no_content()

    @router.get(
        _DELIVERIES,
        name="list_deliveries",
        summary="List a webhook's deliveries",
        response_model=Paginated[DeliveryJson],
        openapi_extra=query_parameters(*PAGING, *_FILTERS),
    )
    async def list_deliveries(caller: AllowedCaller, webhook_id: PathId, request: Request) -> Response:
        """Newest first."""
        problems = Problems()
        pagination, filters = read_pagination(request, problems), _read_filters(request, problems)
        problems.raise_if_any()
        page = await service.list_deliveries(deps, caller, webhook_id, filters, pagination)
        return paginated(page.map(delivery_to_json), request, deps.base_url)

    @router.post(_REDELIVER, summary="Redeliver an event", status_code=202, response_model=Data[DeliveryJson])
    async def redeliver(caller: AllowedCaller, webhook_id: PathId, delivery_id: PathDeliveryId) -> Response:
        """Sends it immediately with the same id and body."""
        return data(delivery_to_json(await service.redeliver(deps, caller, webhook_id, delivery_id)), 202)

    @router.post(_TEST, summary="Send a test event", status_code=202, response_model=Data[DeliveryJson])
    async def send_test(caller: AllowedCaller, webhook_id: PathId) -> Response:
        """Sent regardless of the webhook's event types."""
        return data(delivery_to_json(await service.send_test(deps, caller, webhook_id)), 202)

    return router


def _read_filters(request: Request, problems: Problems) -> DeliveryFilter:
    query = read_query(request)
    values = {name: query.get(name) for name in _CHOICES}
    for name, choices in _CHOICES.items():
        if values[name] not in {None, *choices}:
            problems.add(name, f"This must be one of: {', '.join(choices)}.")
    return DeliveryFilter(status=cast("DeliveryStatus | None", values["status"]), event=values["event"])
