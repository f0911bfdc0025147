"""JSON endpoints of the aliases of a link."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from fastapi import Path as PathParameter

from waypost.accounts import Caller
from waypost.kit.errors import Problems
from waypost.kit.ids import require_id
from waypost.resources.links.aliases import service as alias_service
from waypost.resources.links.aliases.schemas import AliasJson, NewAlias, to_json
from waypost.resources.links.deps import Deps
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
    query_parameters,
    require_pagination,
)


async def _path_alias_id(alias_id: Annotated[str, PathParameter(json_schema_extra={"format": "uuid"})]) -> UUID:
    return require_id(alias_id)


PathAliasId = Annotated[UUID, Depends(_path_alias_id)]
NewAliasBody = Annotated[tuple[NewAlias, Problems], Depends(ParsedBody(NewAlias))]


def endpoints(deps: Deps, guard: Guard) -> APIRouter:
    router = new_router("links", "/links/{id}/aliases")
    Reader = Annotated[Caller, Depends(guard.allow("links:read"))]  # noqa: N806  # a type
    Writer = Annotated[Caller, Depends(guard.allow("links:write"))]  # noqa: N806  # a type

    @router.get(
        "",
        name="list_aliases",
        summary="List a link's aliases",
        response_model=Paginated[AliasJson],
        openapi_extra=query_parameters(*PAGING),
    )
    async def list_aliases(caller: Reader, link_id: PathId, request: Request) -> Response:
        """Newest first."""
        page = await alias_service.list_aliases(deps, caller, link_id, require_pagination(request))
        return paginated(page.map(to_json), request, deps.base_url)

    @router.post("", name="create_alias", summary="Add an alias", status_code=201, response_model=Data[AliasJson])
    async def add(caller: Writer, link_id: PathId, body: NewAliasBody) -> Response:
        """The link also redirects from this path of one of your domains. A link's own slug wins over an alias with the
        same path.
        """
        return data(to_json(await alias_service.add(deps, caller, link_id, *body)), 201)

    @router.delete("/{alias_id}", name="delete_alias", summary="Delete an alias", status_code=204)
    async def delete(caller: Writer, link_id: PathId, alias_id: PathAliasId) -> Response:
        """The path returns 404 immediately, and can be used for another link."""
        await alias_service.delete(deps, caller, link_id, alias_id)
        return no_content()

    return router
