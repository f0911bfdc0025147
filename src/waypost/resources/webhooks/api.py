"""Webhooks over JSON. Thin: reads the request, calls a verb, shows what came of it."""

from typing import Annotated, Any, cast, get_args
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from fastapi import Path as PathParameter

from waypost.auth import Caller
from waypost.kit.errors import Problems
from waypost.kit.fields import parse
from waypost.resources.webhooks import openapi, service
from waypost.resources.webhooks.deps import Deps
from waypost.resources.webhooks.model import TEST, EventType, Status
from waypost.resources.webhooks.schemas import NewWebhook, shown, shown_delivery
from waypost.resources.webhooks.store import Wanted
from waypost.web import (
    PREFIX,
    Guard,
    Json,
    data,
    no_content,
    page_request,
    paginated,
    path_id,
    read_fields,
    read_page,
    read_query,
)

_ONE = "/{id}"
_DELIVERIES = "/{id}/deliveries"
_REDELIVER = "/{id}/deliveries/{delivery_id}/redeliver"
_TEST = "/{id}/test"
_CHOICES = {"status": get_args(Status), "event": (*get_args(EventType), TEST)}


async def _path_delivery_id(delivery_id: Annotated[str, PathParameter(json_schema_extra={"format": "uuid"})]) -> UUID:
    return await path_id(delivery_id)


def routes(deps: Deps, guard: Guard) -> APIRouter:
    router = APIRouter(prefix=f"{PREFIX}/webhooks", tags=["webhooks"])
    allowed = Annotated[Caller, Depends(guard.allow("webhooks:manage"))]
    id_of_path = Annotated[UUID, Depends(path_id)]
    delivery_of_path = Annotated[UUID, Depends(_path_delivery_id)]
    # every guard stands before it in the signatures: who may not write has no body read
    sent = Annotated[dict[str, Any], Depends(read_fields)]

    @router.get("", **openapi.BROWSE)
    async def browse(caller: allowed, request: Request) -> Response:
        found = await service.browse(deps, caller, page_request(request))
        return Json(paginated(found.map(shown), request, deps.base_url))

    @router.post("", **openapi.CREATE)
    async def create(caller: allowed, fields: sent) -> Response:
        new, problems = parse(NewWebhook, fields)
        webhook, secret = await service.create(deps, caller, new, problems)
        return data({**shown(webhook), "secret": secret}, 201)

    @router.get(_ONE, **openapi.FIND)
    async def find(caller: allowed, webhook_id: id_of_path) -> Response:
        return data(shown(await service.find(deps, caller, webhook_id)))

    @router.delete(_ONE, **openapi.DELETE)
    async def delete(caller: allowed, webhook_id: id_of_path) -> Response:
        await service.delete(deps, caller, webhook_id)
        return no_content()

    @router.get(_DELIVERIES, **openapi.BROWSE_DELIVERIES)
    async def browse_deliveries(caller: allowed, webhook_id: id_of_path, request: Request) -> Response:
        problems = Problems()
        page, wanted = read_page(request, problems), _wanted(request, problems)
        problems.raise_if_any()
        found = await service.browse_deliveries(deps, caller, webhook_id, wanted, page)
        return Json(paginated(found.map(shown_delivery), request, deps.base_url))

    @router.post(_REDELIVER, **openapi.REDELIVER)
    async def redeliver(caller: allowed, webhook_id: id_of_path, delivery_id: delivery_of_path) -> Response:
        return data(shown_delivery(await service.redeliver(deps, caller, webhook_id, delivery_id)), 202)

    @router.post(_TEST, **openapi.ASK_FOR_TEST)
    async def ask_for_test(caller: allowed, webhook_id: id_of_path) -> Response:
        return data(shown_delivery(await service.ask_for_test(deps, caller, webhook_id)), 202)

    return router


def _wanted(request: Request, problems: Problems) -> Wanted:
    query = read_query(request)
    given = {name: query.get(name) for name in _CHOICES}
    for name, choices in _CHOICES.items():
        if given[name] not in {None, *choices}:
            problems.add(name, f"This must be one of: {', '.join(choices)}.")
    return Wanted(status=cast("Status | None", given["status"]), event=given["event"])
