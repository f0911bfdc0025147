"""JSON endpoints of links."""

from typing import Annotated, get_args

from fastapi import APIRouter, Depends, Request, Response

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.kit.fields import ONE_LINE
from waypost.resources.links import service
from waypost.resources.links.aliases import api as alias_api
from waypost.resources.links.bulk import api as bulk_api
from waypost.resources.links.check_header import CHECKED, with_check
from waypost.resources.links.deps import Deps
from waypost.resources.links.lists import listing
from waypost.resources.links.lists.query import MAX_SEARCH, read_filter
from waypost.resources.links.model import LinkStatus
from waypost.resources.links.routing import api as routing_api
from waypost.resources.links.schemas import LinkChange, LinkJson, NewLink, to_json
from waypost.web import (
    PAGING,
    Data,
    Guard,
    Paginated,
    ParsedBody,
    PathId,
    data,
    new_router,
    no_content,
    paginated,
    parameter,
    query_parameters,
    read_pagination,
    read_query,
)

_PATH = "/{id}"
_LINE = {"type": "string", "pattern": ONE_LINE}
_FILTERS = (
    parameter("search", {**_LINE, "maxLength": MAX_SEARCH}, "Text in title, slug, aliases or destination", "pricing"),
    parameter("tag", _LINE, "Links with exactly this tag", "mail"),
    parameter("hostname", _LINE, "A domain of the account, or the shared domain", "go.brand.com"),
    parameter("status", {"type": "string", "enum": list(get_args(LinkStatus))}, "Status of the link"),
)
# parameters after the caller: the body of a caller without permission is not read
NewLinkBody = Annotated[tuple[NewLink, Problems], Depends(ParsedBody(NewLink))]
LinkChangeBody = Annotated[tuple[LinkChange, Problems], Depends(ParsedBody(LinkChange, is_required=False))]


def endpoints(deps: Deps, guard: Guard) -> APIRouter:
    router = new_router("links", "/links")
    Reader = Annotated[Caller, Depends(guard.allow("links:read"))]  # noqa: N806  # a type
    Writer = Annotated[Caller, Depends(guard.allow("links:write"))]  # noqa: N806  # a type

    router.routes.extend(alias_api.endpoints(deps, guard).routes)
    router.routes.extend(routing_api.endpoints(deps, guard).routes)
    router.routes.extend(bulk_api.endpoints(deps, guard).routes)  # first: its path also matches that of one link

    @router.get(
        "",
        name="list",
        summary="List links",
        response_model=Paginated[LinkJson],
        openapi_extra=query_parameters(*PAGING, *_FILTERS),
    )
    async def list_links(caller: Reader, request: Request) -> Response:
        """Newest first. Filters are combined with AND."""
        problems = Problems()
        page = read_pagination(request, problems)
        filter_ = read_filter(read_query(request), deps.shared_domain, problems)
        problems.raise_if_any()
        async with deps.db.read_for(caller.account.id) as tx:
            links = await listing.list_with_total(tx, caller.account.id, filter_, page, deps.clock())
        return paginated(links.map(lambda link: to_json(link, deps)), request, deps.base_url)

    @router.post("", summary="Create a link", status_code=201, response_model=Data[LinkJson], openapi_extra=CHECKED)
    async def create(caller: Writer, body: NewLinkBody) -> Response:
        """The destination is fetched once: it must be reachable, public and safe. Its page's title, description and
        image become the link preview unless you send your own.
        """
        new, problems = body
        return with_check(data(to_json(await service.create(deps, caller, new, problems), deps), 201), problems)

    @router.get(_PATH, name="get", summary="Get a link", response_model=Data[LinkJson])
    async def get(caller: Reader, link_id: PathId) -> Response:
        """By its ID: a slug is not found here. To find a link by its slug, search the list."""
        return data(to_json(await service.get(deps, caller, link_id), deps))

    @router.patch(_PATH, summary="Change a link", response_model=Data[LinkJson], openapi_extra=CHECKED)
    async def update(caller: Writer, link_id: PathId, body: LinkChangeBody) -> Response:
        """Changes the fields that you send and keeps the others; null clears a field. Redirects change immediately."""
        change, problems = body
        return with_check(data(to_json(await service.change(deps, caller, link_id, change, problems), deps)), problems)

    @router.delete(_PATH, summary="Delete a link", status_code=204)
    async def delete(caller: Writer, link_id: PathId) -> Response:
        """The short URL returns 404 immediately. Only this account can use the slug again."""
        await service.delete(deps, caller, link_id)
        return no_content()

    return router
