"""JSON endpoints of the appearance of a domain."""

from uuid import UUID

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.kit.versions import Version
from waypost.resources.domains.appearance import service
from waypost.resources.domains.appearance.model import DomainAppearance
from waypost.resources.domains.appearance.schemas import DomainAppearanceChange, DomainAppearanceJson, to_json
from waypost.resources.domains.appearance.store import APPEARANCES
from waypost.resources.domains.deps import WebDeps
from waypost.web import Data, Endpoint, Representation

_PATH = "/domains/{id}/appearance"


async def get_appearance(deps: WebDeps, caller: Caller, domain_id: UUID) -> DomainAppearance:
    """What the pages for visitors of the domain have of their own. A null field is as on all domains."""
    return await APPEARANCES.get(deps, caller, domain_id)


async def update_appearance(
    deps: WebDeps, caller: Caller, domain_id: UUID, change: DomainAppearanceChange, problems: Problems
) -> DomainAppearance:
    """Fields that are left out stay as they are; null resets one to its default. The next visitor sees it."""
    return await service.change(deps, caller, domain_id, change, problems)


_SHOWN = Representation(lambda appearance, _deps, _caller, domain_id: to_json(domain_id, appearance), Version(tuple))
ENDPOINTS = [
    Endpoint(
        "GET",
        _PATH,
        get_appearance,
        "Get the appearance of a domain's pages",
        "domains:read",
        Data[DomainAppearanceJson],
        shows=_SHOWN,
    ),
    Endpoint(
        "PATCH",
        _PATH,
        update_appearance,
        "Change the appearance of a domain's pages",
        "domains:write",
        Data[DomainAppearanceJson],
        body=DomainAppearanceChange,
        shows=_SHOWN,
    ),
]
