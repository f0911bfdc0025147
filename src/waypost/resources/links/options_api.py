"""JSON endpoints of the options of a link."""

from uuid import UUID

from starlette.responses import Response

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.resources.links import service
from waypost.resources.links.deps import Deps
from waypost.resources.links.schemas import LinkChange, LinkOptionsChange, LinkOptionsJson, options_json
from waypost.web import Data, Endpoint, data

_PATH = "/links/{id}/options"


async def get_options(deps: Deps, caller: Caller, link_id: UUID) -> Response:
    """Null means that the link follows the options of its domain."""
    return data(options_json(await service.get(deps, caller, link_id)))


async def update_options(
    deps: Deps, caller: Caller, link_id: UUID, options: LinkOptionsChange, problems: Problems
) -> Response:
    """Options that are left out stay as they are; null lets the link follow its domain. The next visit follows them."""
    change = LinkChange(options=options)
    return data(options_json(await service.change(deps, caller, link_id, change, problems)))


ENDPOINTS = [
    Endpoint("GET", _PATH, get_options, "Get a link's options", "links:read", Data[LinkOptionsJson]),
    Endpoint(
        "PATCH",
        _PATH,
        update_options,
        "Change a link's options",
        "links:write",
        Data[LinkOptionsJson],
        body=LinkOptionsChange,
    ),
]
