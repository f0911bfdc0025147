"""Domains over JSON. Thin: reads the request, calls a verb, shows the domain."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from waypost.auth import Caller
from waypost.kit.fields import parse
from waypost.resources.domains import openapi, service
from waypost.resources.domains.deps import Deps
from waypost.resources.domains.model import Domain
from waypost.resources.domains.schemas import DomainChange, NewDomain, shown
from waypost.web import PREFIX, Guard, Json, data, no_content, page_request, paginated, path_id, read_fields

_ONE = "/{id}"


def routes(deps: Deps, guard: Guard) -> APIRouter:
    router = APIRouter(prefix=f"{PREFIX}/domains", tags=["domains"])
    reader = Annotated[Caller, Depends(guard.allow("domains:read"))]
    writer = Annotated[Caller, Depends(guard.allow("domains:write"))]
    id_of_path = Annotated[UUID, Depends(path_id)]
    # every guard stands before it in the signatures: who may not write has no body read
    sent = Annotated[dict[str, Any], Depends(read_fields)]

    def show(domain: Domain) -> dict[str, Any]:
        return shown(domain, deps.cname_target)

    @router.get("", **openapi.BROWSE)
    async def browse(caller: reader, request: Request) -> Response:
        found = await service.browse(deps, caller, page_request(request))
        return Json(paginated(found.map(show), request, deps.base_url))

    @router.post("", **openapi.CREATE)
    async def create(caller: writer, fields: sent) -> Response:
        new, problems = parse(NewDomain, fields)
        return data(show(await service.create(deps, caller, new, problems)), 201)

    @router.get(_ONE, **openapi.FIND)
    async def find(caller: reader, domain_id: id_of_path) -> Response:
        return data(show(await service.find(deps, caller, domain_id)))

    @router.patch(_ONE, **openapi.CHANGE)
    async def change(caller: writer, domain_id: id_of_path, fields: sent) -> Response:
        wanted, problems = parse(DomainChange, fields)
        return data(show(await service.change(deps, caller, domain_id, wanted, problems)))

    @router.delete(_ONE, **openapi.DELETE)
    async def delete(caller: writer, domain_id: id_of_path) -> Response:
        await service.delete(deps, caller, domain_id)
        return no_content()

    @router.post(f"{_ONE}/verify", **openapi.VERIFY)
    async def verify(caller: writer, domain_id: id_of_path) -> Response:
        return data(show(await service.verify_later(deps, caller, domain_id)), 202)

    return router
