"""JSON endpoints of the app links of a domain."""

from uuid import UUID

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.kit.versions import Version
from waypost.resources.domains.app_links import service
from waypost.resources.domains.app_links.model import AppLinksTexts
from waypost.resources.domains.app_links.schemas import AppLinksFields, AppLinksJson, to_json
from waypost.resources.domains.app_links.store import APP_LINKS
from waypost.resources.domains.deps import WebDeps
from waypost.web import Data, Endpoint, Representation, read_json

_PATH = "/domains/{id}/app-links"


async def get_app_links(deps: WebDeps, caller: Caller, domain_id: UUID) -> AppLinksTexts:
    """A domain without app links has nulls."""
    return await APP_LINKS.get(deps, caller, domain_id)


async def set_app_links(
    deps: WebDeps, caller: Caller, domain_id: UUID, fields: AppLinksFields, problems: Problems
) -> AppLinksTexts:
    """Replaces both documents; a document that is left out or null is removed. They are served below
    `/.well-known/` of the domain, as soon as it is verified. Keys that are not known are kept.
    """
    return await service.save(deps, caller, domain_id, fields, problems)


_SHOWN = Representation(lambda texts, *_: to_json(texts), Version(tuple))
ENDPOINTS = [
    Endpoint("GET", _PATH, get_app_links, "Get a domain's app links", "domains:read", Data[AppLinksJson], shows=_SHOWN),
    Endpoint(
        "PUT",
        _PATH,
        set_app_links,
        "Set a domain's app links",
        "domains:write",
        Data[AppLinksJson],
        body=AppLinksFields,
        read=read_json,
        shows=_SHOWN,
    ),
]
