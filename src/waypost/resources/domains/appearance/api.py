"""JSON endpoints of the appearance of a domain."""

from uuid import UUID

from starlette.responses import Response

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.resources.domains.appearance import service
from waypost.resources.domains.appearance.schemas import DomainAppearanceChange, DomainAppearanceJson, to_json
from waypost.resources.domains.deps import WebDeps
from waypost.web import Data, Endpoint, data

_PATH = "/domains/{id}/appearance"


async def get_appearance(deps: WebDeps, caller: Caller, domain_id: UUID) -> Response:
    """What the pages for visitors of the domain have of their own. A null field is as on all domains."""
    _, appearance = await service.get(deps, caller, domain_id)
    return data(to_json(domain_id, appearance))


async def update_appearance(
    deps: WebDeps, caller: Caller, domain_id: UUID, change: DomainAppearanceChange, problems: Problems
) -> Response:
    """Fields that are left out stay as they are; null resets one to its default. The next visitor sees it."""
    return data(to_json(domain_id, await service.change(deps, caller, domain_id, change, problems)))


ENDPOINTS = [
    Endpoint(
        "GET",
        _PATH,
        get_appearance,
        "Get the appearance of a domain's pages",
        "domains:read",
        Data[DomainAppearanceJson],
    ),
    Endpoint(
        "PATCH",
        _PATH,
        update_appearance,
        "Change the appearance of a domain's pages",
        "domains:write",
        Data[DomainAppearanceJson],
        body=DomainAppearanceChange,
    ),
]
