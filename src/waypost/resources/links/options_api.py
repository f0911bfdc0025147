"""JSON endpoints of the options of a link."""

from uuid import UUID

from waypost.accounts import Caller
from waypost.kit.errors import Invalid, Problems
from waypost.resources.links import service
from waypost.resources.links.deps import Deps
from waypost.resources.links.model import Link
from waypost.resources.links.schemas import LINK_VERSION, LinkChange, LinkOptionsChange, LinkOptionsJson, options_json
from waypost.web import Data, Endpoint, Representation

_PATH = "/links/{id}/options"


async def get_options(deps: Deps, caller: Caller, link_id: UUID) -> Link:
    """Null means that the link follows its domain, or has no note or external ID."""
    return await service.get(deps, caller, link_id)


async def update_options(
    deps: Deps, caller: Caller, link_id: UUID, options: LinkOptionsChange, problems: Problems
) -> Link:
    """Options that are left out stay as they are; null resets one. The next visit follows them."""
    try:
        return await service.change(deps, caller, link_id, LinkChange(options=options), problems)
    except Invalid as error:
        raise Invalid({name.removeprefix("options."): texts for name, texts in error.errors.items()}) from None


_SHOWN = Representation(lambda link, *_: options_json(link), LINK_VERSION)
ENDPOINTS = [
    Endpoint("GET", _PATH, get_options, "Get a link's options", "links:read", Data[LinkOptionsJson], shows=_SHOWN),
    Endpoint(
        "PATCH",
        _PATH,
        update_options,
        "Change a link's options",
        "links:write",
        Data[LinkOptionsJson],
        body=LinkOptionsChange,
        shows=_SHOWN,
    ),
]
