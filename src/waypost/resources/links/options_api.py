"""JSON endpoints of the options of a link."""

from uuid import UUID

from starlette.responses import Response

from waypost.accounts import Caller
from waypost.kit.errors import Invalid, Problems
from waypost.resources.links import service
from waypost.resources.links.deps import Deps
from waypost.resources.links.schemas import LinkChange, LinkOptionsChange, LinkOptionsJson, options_json
from waypost.web import Data, Endpoint, data

_PATH = "/links/{id}/options"


async def get_options(deps: Deps, caller: Caller, link_id: UUID) -> Response:
    """Null means that the link follows its domain, or has no note or external ID."""
    return data(options_json(await service.get(deps, caller, link_id)))


async def update_options(
    deps: Deps, caller: Caller, link_id: UUID, options: LinkOptionsChange, problems: Problems
) -> Response:
    """Options that are left out stay as they are; null resets one. The next visit follows them."""
    try:
        link = await service.change(deps, caller, link_id, LinkChange(options=options), problems)
    except Invalid as error:
        raise Invalid({name.removeprefix("options."): texts for name, texts in error.errors.items()}) from None
    return data(options_json(link))


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
