"""JSON endpoints of the options of a domain."""

from uuid import UUID

from starlette.responses import Response

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.resources.domains.deps import WebDeps
from waypost.resources.domains.options import service
from waypost.resources.domains.options.schemas import DomainOptionsChange, DomainOptionsJson, to_json
from waypost.web import Data, Endpoint, data

_PATH = "/domains/{id}/options"


async def get_options(deps: WebDeps, caller: Caller, domain_id: UUID) -> Response:
    """A domain whose options were never changed has the defaults."""
    return data(to_json(domain_id, await service.get(deps, caller, domain_id)))


async def update_options(
    deps: WebDeps, caller: Caller, domain_id: UUID, change: DomainOptionsChange, problems: Problems
) -> Response:
    """Options that are left out stay as they are; null resets one to its default. The next visit follows it."""
    return data(to_json(domain_id, await service.change(deps, caller, domain_id, change, problems)))


ENDPOINTS = [
    Endpoint("GET", _PATH, get_options, "Get a domain's options", "domains:read", Data[DomainOptionsJson]),
    Endpoint(
        "PATCH",
        _PATH,
        update_options,
        "Change a domain's options",
        "domains:write",
        Data[DomainOptionsJson],
        body=DomainOptionsChange,
    ),
]
