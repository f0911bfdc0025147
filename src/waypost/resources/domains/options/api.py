"""JSON endpoints of the options of a domain."""

from uuid import UUID

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.kit.versions import Version
from waypost.resources.domains.deps import WebDeps
from waypost.resources.domains.options import service
from waypost.resources.domains.options.model import DomainOptions
from waypost.resources.domains.options.schemas import DomainOptionsChange, DomainOptionsJson, to_json
from waypost.resources.domains.options.store import OPTIONS
from waypost.web import Data, Endpoint, Representation

_PATH = "/domains/{id}/options"


async def get_options(deps: WebDeps, caller: Caller, domain_id: UUID) -> DomainOptions:
    """A domain whose options were never changed has the defaults."""
    return await OPTIONS.get(deps, caller, domain_id)


async def update_options(
    deps: WebDeps, caller: Caller, domain_id: UUID, change: DomainOptionsChange, problems: Problems
) -> DomainOptions:
    """Options that are left out stay as they are; null resets one to its default. The next visit follows it."""
    return await service.change(deps, caller, domain_id, change, problems)


_SHOWN = Representation(lambda options, _deps, _caller, domain_id: to_json(domain_id, options), Version(tuple))
ENDPOINTS = [
    Endpoint(
        "GET", _PATH, get_options, "Get a domain's options", "domains:read", Data[DomainOptionsJson], shows=_SHOWN
    ),
    Endpoint(
        "PATCH",
        _PATH,
        update_options,
        "Change a domain's options",
        "domains:write",
        Data[DomainOptionsJson],
        body=DomainOptionsChange,
        shows=_SHOWN,
    ),
]
