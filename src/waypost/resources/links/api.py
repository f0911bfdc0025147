"""JSON endpoints of links."""

from typing import get_args
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.kit.fields import ONE_LINE
from waypost.kit.pagination import Page
from waypost.resources.links import options_api, service, sync
from waypost.resources.links.aliases import api as alias_api
from waypost.resources.links.bulk import api as bulk_api
from waypost.resources.links.deps import Deps
from waypost.resources.links.health import HealthStatus
from waypost.resources.links.health import api as health_api
from waypost.resources.links.lists import listing
from waypost.resources.links.lists.query import MAX_SEARCH, read_filter
from waypost.resources.links.model import Link, LinkStatus
from waypost.resources.links.routing import api as routing_api
from waypost.resources.links.schemas import (
    LINK_VERSION,
    MAX_EXTERNAL_ID,
    LinkChange,
    LinkJson,
    LinkSync,
    NewLink,
    to_json,
)
from waypost.resources.links.tags import api as tag_api
from waypost.web import PAGING, Data, Endpoint, Paginated, Representation, data, parameter, read_pagination, read_query

_ONE = "/links/{id}"
_LINE = {"type": "string", "pattern": ONE_LINE}
_EXTERNAL_ID = {**_LINE, "maxLength": MAX_EXTERNAL_ID}
_TIME, _EXAMPLE = {"type": "string", "format": "date-time"}, "2026-08-31T00:00:00Z"
_SEARCHED = "Text in title, slug, aliases, destination or note"
_PARAMETERS = (
    *PAGING,
    parameter("search", {**_LINE, "maxLength": MAX_SEARCH}, _SEARCHED, "pricing"),
    parameter("external_id", _EXTERNAL_ID, "The link with this external ID", "product-4711"),
    parameter("tag", _LINE, "Links with exactly this tag", "mail"),
    parameter("hostname", _LINE, "A domain of the account, or the shared domain", "go.brand.com"),
    parameter("status", {"type": "string", "enum": list(get_args(LinkStatus))}, "Status of the link"),
    parameter("health", {"type": "string", "enum": list(get_args(HealthStatus))}, "Status of the link's health"),
    parameter("unused_since", _TIME, "Links from before this time that nobody has clicked since", _EXAMPLE),
    parameter("expired_before", _TIME, "Links that expired before this time", _EXAMPLE),
)


async def list_(deps: Deps, caller: Caller, request: Request) -> Page[LinkJson]:
    """Newest first. Filters are combined with AND."""
    problems = Problems()
    page = read_pagination(request, problems)
    filter_ = read_filter(read_query(request), deps.shared_domain, problems)
    problems.raise_if_any()
    async with deps.db.read_for(caller.account.id) as tx:
        links = await listing.list_with_total(tx, caller.account.id, filter_, page, deps.clock())
    return links.map(lambda link: to_json(link, deps))


async def create(deps: Deps, caller: Caller, new: NewLink, problems: Problems) -> LinkJson:
    """The destination is fetched once: it must be reachable, public and safe. Its page's title, description and
    image become the link preview unless you send your own.
    """
    return to_json(await service.create(deps, caller, new, problems), deps)


async def get(deps: Deps, caller: Caller, link_id: UUID) -> Link:
    """By its ID: a slug is not found here. To find a link by its slug, search the list."""
    return await service.get(deps, caller, link_id)


async def update(deps: Deps, caller: Caller, link_id: UUID, change: LinkChange, problems: Problems) -> Link:
    """Changes the fields that you send and keeps the others; null clears a field. Redirects change immediately."""
    return await service.change(deps, caller, link_id, change, problems)


async def upsert(deps: Deps, caller: Caller, external_id: str, fields: LinkSync, problems: Problems) -> Response:
    """Creates the link with this external ID (201), or changes the fields that you send (200): those that are left out
    stay, null clears, and a link that exists needs no `destination_url`. The same destination is not fetched again. Of
    several requests at once, one creates the link.
    """
    link, is_new = await sync.upsert(deps, caller, external_id, fields, problems)
    response = data(to_json(link, deps))
    response.status_code = 201 if is_new else 200
    return response


async def delete(deps: Deps, caller: Caller, link_id: UUID) -> None:
    """The short URL returns 404 immediately. Only this account can use the slug again."""
    await service.delete(deps, caller, link_id)


_SHOWN = Representation(
    lambda link, deps, *_: to_json(link, deps),
    LINK_VERSION,
    lambda link, deps, _: (link.clicks, link.status_at(deps.clock())),
)
ENDPOINTS = [
    Endpoint("GET", "/links", list_, "List links", "links:read", Paginated[LinkJson], parameters=_PARAMETERS),
    Endpoint(
        "POST",
        "/links",
        create,
        "Create a link",
        "links:write",
        Data[LinkJson],
        201,
        body=NewLink,
        checks_destination=True,
    ),
    Endpoint("GET", _ONE, get, "Get a link", "links:read", Data[LinkJson], shows=_SHOWN),
    Endpoint(
        "PATCH",
        _ONE,
        update,
        "Change a link",
        "links:write",
        Data[LinkJson],
        body=LinkChange,
        shows=_SHOWN,
        checks_destination=True,
    ),
    Endpoint(
        "PUT",
        "/links/by-external-id/{external_id}",
        upsert,
        "Create or change a link by its external ID",
        "links:write",
        Data[LinkJson],
        may_create=True,
        creates=LINK_VERSION,
        errors=(412,),
        body=LinkSync,
        parameters=(
            {**parameter("external_id", _EXTERNAL_ID, "External ID of the link", "product-4711"), "in": "path"},
        ),
        checks_destination=True,
    ),
    Endpoint("DELETE", _ONE, delete, "Delete a link", "links:write", status=204, shows=_SHOWN),
    *alias_api.ENDPOINTS,
    *routing_api.ENDPOINTS,
    *options_api.ENDPOINTS,
    *health_api.ENDPOINTS,
    *bulk_api.ENDPOINTS,
    *tag_api.ENDPOINTS,
]
