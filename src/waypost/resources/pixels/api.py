"""Pixels over JSON. Thin: reads the request, calls a verb, shows the pixel."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from waypost.auth import Caller
from waypost.kit.fields import parse
from waypost.resources.pixels import openapi, service
from waypost.resources.pixels.deps import Deps
from waypost.resources.pixels.schemas import NewPixel, PixelChange, shown, shown_results
from waypost.web import PREFIX, Guard, Json, data, no_content, page_request, paginated, path_id, read_fields

_ONE = "/{id}"


def routes(deps: Deps, guard: Guard) -> APIRouter:
    router = APIRouter(prefix=f"{PREFIX}/pixels", tags=["pixels"])
    reader = Annotated[Caller, Depends(guard.allow("pixels:read"))]
    writer = Annotated[Caller, Depends(guard.allow("pixels:write"))]
    id_of_path = Annotated[UUID, Depends(path_id)]
    # every guard stands before it in the signatures: who may not write has no body read
    sent = Annotated[dict[str, Any], Depends(read_fields)]

    @router.get("", **openapi.BROWSE)
    async def browse(caller: reader, request: Request) -> Response:
        found = await service.browse(deps, caller, page_request(request))
        return Json(paginated(found.map(shown), request, deps.base_url))

    @router.post("", **openapi.CREATE)
    async def create(caller: writer, fields: sent) -> Response:
        new, problems = parse(NewPixel, fields)
        return data(shown(await service.create(deps, caller, new, problems)), 201)

    @router.get(_ONE, **openapi.FIND)
    async def find(caller: reader, pixel_id: id_of_path) -> Response:
        return data(shown(await service.find(deps, caller, pixel_id)))

    @router.patch(_ONE, **openapi.CHANGE)
    async def change(caller: writer, pixel_id: id_of_path, fields: sent) -> Response:
        wanted, problems = parse(PixelChange, fields)
        return data(shown(await service.change(deps, caller, pixel_id, wanted, problems)))

    @router.delete(_ONE, **openapi.DELETE)
    async def delete(caller: writer, pixel_id: id_of_path) -> Response:
        await service.delete(deps, caller, pixel_id)
        return no_content()

    @router.get(f"{_ONE}/results", **openapi.RESULTS)
    async def results(caller: reader, pixel_id: id_of_path) -> Response:
        return data(shown_results(await service.results(deps, caller, pixel_id)))

    return router
