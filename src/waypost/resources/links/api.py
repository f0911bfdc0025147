"""Links over JSON. Thin: reads the request, calls a verb, shows the link."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from waypost.auth import Caller
from waypost.kit.errors import Problems
from waypost.kit.fields import parse
from waypost.resources.links import lists, openapi, service
from waypost.resources.links.deps import Deps
from waypost.resources.links.filters import read_filter
from waypost.resources.links.model import Link
from waypost.resources.links.schemas import LinkChange, NewLink, to_json
from waypost.web.api import PREFIX
from waypost.web.body import read_fields
from waypost.web.guard import Guard, path_id
from waypost.web.pagination import paginated, read_page
from waypost.web.query import read_query
from waypost.web.responses import Json, data, no_content

_ONE = "/{id}"


def routes(deps: Deps, guard: Guard) -> APIRouter:
    router = APIRouter(prefix=f"{PREFIX}/links", tags=["links"])
    reader = Annotated[Caller, Depends(guard.allow("links:read"))]
    writer = Annotated[Caller, Depends(guard.allow("links:write"))]
    id_of_path = Annotated[UUID, Depends(path_id)]
    # every guard stands before it in the signatures: who may not write has no body read
    sent = Annotated[dict[str, Any], Depends(read_fields)]

    def show(link: Link) -> dict[str, Any]:
        return to_json(link, shared_domain=deps.shared_domain, base_url=deps.base_url, now=deps.clock())

    @router.get("", **openapi.BROWSE)
    async def browse(caller: reader, request: Request) -> Response:
        problems = Problems()
        page, filter_ = read_page(request, problems), read_filter(read_query(request), deps.shared_domain, problems)
        problems.raise_if_any()
        async with deps.db.read_for(caller.account.id) as tx:
            found = await lists.exact_page(tx, caller.account.id, filter_, page, deps.clock())
        return Json(paginated(found.map(show), request, deps.base_url))

    @router.post("", **openapi.CREATE)
    async def create(caller: writer, fields: sent) -> Response:
        new, problems = parse(NewLink, fields)
        return data(show(await service.create(deps, caller, new, problems)), 201)

    @router.get(_ONE, **openapi.FIND)
    async def find(caller: reader, link_id: id_of_path) -> Response:
        return data(show(await service.find(deps, caller, link_id)))

    @router.patch(_ONE, **openapi.CHANGE)
    async def change(caller: writer, link_id: id_of_path, fields: sent) -> Response:
        wanted, problems = parse(LinkChange, fields)
        return data(show(await service.change(deps, caller, link_id, wanted, problems)))

    @router.delete(_ONE, **openapi.DELETE)
    async def delete(caller: writer, link_id: id_of_path) -> Response:
        await service.delete(deps, caller, link_id)
        return no_content()

    return router
