"""JSON endpoints of the routing of a link."""

from uuid import UUID

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.resources.links.deps import Deps
from waypost.resources.links.routing import service
from waypost.resources.links.routing.change import RoutedLink
from waypost.resources.links.routing.schemas import RoutingFields, RoutingJson, to_json
from waypost.web import Data, Endpoint, Representation, read_json

_PATH = "/links/{id}/routing"


async def get_routing(deps: Deps, caller: Caller, link_id: UUID) -> RoutedLink:
    """A link without routing has empty lists and nulls."""
    return await service.get(deps, caller, link_id)


async def set_routing(
    deps: Deps, caller: Caller, link_id: UUID, fields: RoutingFields, problems: Problems
) -> RoutedLink:
    """Replaces all of it, except for a password that is not sent. The first rule whose conditions all hold decides
    where a visitor is sent; without one, the variants do, by weight, and the rest goes to the link's own
    destination. New destinations are fetched once, like that of a link.
    """
    return await service.save(deps, caller, link_id, fields, problems)


async def delete_routing(deps: Deps, caller: Caller, link_id: UUID) -> None:
    """All visitors are sent to the link's own destination, immediately and without a password."""
    await service.delete(deps, caller, link_id)


def _json(routed: RoutedLink, *_: object) -> RoutingJson:
    link, routing = routed
    return to_json(link.id, routing, starts_at=link.starts_at, click_limit=link.click_limit)


_SHOWN = Representation(_json, service.ROUTING_VERSION)
ENDPOINTS = [
    Endpoint("GET", _PATH, get_routing, "Get a link's routing", "links:read", Data[RoutingJson], shows=_SHOWN),
    Endpoint(
        "PUT",
        _PATH,
        set_routing,
        "Set a link's routing",
        "links:write",
        Data[RoutingJson],
        body=RoutingFields,
        read=read_json,
        shows=_SHOWN,
        checks_destination=True,
    ),
    Endpoint("DELETE", _PATH, delete_routing, "Delete a link's routing", "links:write", status=204, shows=_SHOWN),
]
