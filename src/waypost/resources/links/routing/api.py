"""JSON endpoints of the routing of a link."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.resources.links.check_header import CHECKED, with_check
from waypost.resources.links.deps import Deps
from waypost.resources.links.routing import service
from waypost.resources.links.routing.schemas import RoutingFields, RoutingJson, to_json
from waypost.web import Data, Guard, ParsedBody, PathId, data, new_router, no_content, read_json

RoutingBody = Annotated[tuple[RoutingFields, Problems], Depends(ParsedBody(RoutingFields, read_json, is_form=False))]


def endpoints(deps: Deps, guard: Guard) -> APIRouter:
    router = new_router("links", "/links/{id}/routing")
    Reader = Annotated[Caller, Depends(guard.allow("links:read"))]  # noqa: N806  # a type
    Writer = Annotated[Caller, Depends(guard.allow("links:write"))]  # noqa: N806  # a type

    def routing_json(routed: service.RoutedLink) -> RoutingJson:
        link, routing = routed
        return to_json(link.id, routing, starts_at=link.starts_at, click_limit=link.click_limit)

    @router.get("", name="get_routing", summary="Get a link's routing", response_model=Data[RoutingJson])
    async def get(caller: Reader, link_id: PathId) -> Response:
        """A link without routing has empty lists and nulls."""
        return data(routing_json(await service.get(deps, caller, link_id)))

    @router.put(
        "",
        name="set_routing",
        summary="Set a link's routing",
        response_model=Data[RoutingJson],
        openapi_extra=CHECKED,
    )
    async def save(caller: Writer, link_id: PathId, body: RoutingBody) -> Response:
        """Replaces all of it, except for a password that is not sent. The first rule whose conditions all hold decides
        where a visitor is sent; without one, the variants do, by weight, and the rest goes to the link's own
        destination. New destinations are fetched once, like that of a link.
        """
        fields, problems = body
        routed = await service.save(deps, caller, link_id, fields, problems)
        return with_check(data(routing_json(routed)), problems)

    @router.delete("", name="delete_routing", summary="Delete a link's routing", status_code=204)
    async def delete(caller: Writer, link_id: PathId) -> Response:
        """All visitors are sent to the link's own destination, immediately and without a password."""
        await service.delete(deps, caller, link_id)
        return no_content()

    return router
