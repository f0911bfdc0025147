"""JSON endpoints of the app links of a domain."""

from uuid import UUID

from starlette.responses import Response

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.resources.domains.app_links import service
from waypost.resources.domains.app_links.schemas import AppLinksFields, AppLinksJson, to_json
from waypost.resources.domains.deps import WebDeps
from waypost.web import Data, Endpoint, data, read_json

_PATH = "/domains/{id}/app-links"


async def get_app_links(deps: WebDeps, caller: Caller, domain_id: UUID) -> Response:
    """A domain without app links has nulls."""
    _, texts = await service.get(deps, caller, domain_id)
    return data(to_json(texts))


async def set_app_links(
    deps: WebDeps, caller: Caller, domain_id: UUID, fields: AppLinksFields, problems: Problems
) -> Response:
    """Replaces both documents; a document that is left out or null is removed. They are served below
    `/.well-known/` of the domain, as soon as it is verified. Keys that are not known are kept.
    """
    return data(to_json(await service.save(deps, caller, domain_id, fields, problems)))


ENDPOINTS = [
    Endpoint("GET", _PATH, get_app_links, "Get a domain's app links", "domains:read", Data[AppLinksJson]),
    Endpoint(
        "PUT",
        _PATH,
        set_app_links,
        "Set a domain's app links",
        "domains:write",
        Data[AppLinksJson],
        body=AppLinksFields,
        read=read_json,
    ),
]
