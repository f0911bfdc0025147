"""JSON endpoints of pixels."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from waypost.auth import Caller
from waypost.kit.errors import Problems
from waypost.resources.pixels import service
from waypost.resources.pixels.deps import Deps
from waypost.resources.pixels.schemas import (
    NewPixel,
    PixelChange,
    PixelJson,
    PixelResultsJson,
    results_to_json,
    to_json,
)
from waypost.web import (
    PAGING,
    PREFIX,
    Data,
    Guard,
    Paginated,
    ParsedBody,
    data,
    no_content,
    paginated,
    path_id,
    query_parameters,
    require_pagination,
)

_PATH = "/{id}"


def endpoints(deps: Deps, guard: Guard) -> APIRouter:
    router = APIRouter(prefix=f"{PREFIX}/pixels", tags=["pixels"])
    reader = Annotated[Caller, Depends(guard.allow("pixels:read"))]
    writer = Annotated[Caller, Depends(guard.allow("pixels:write"))]
    id_of_path = Annotated[UUID, Depends(path_id)]
    # declared after the guard: the body of a caller without permission is not read
    new_pixel = Annotated[tuple[NewPixel, Problems], Depends(ParsedBody(NewPixel))]
    pixel_change = Annotated[tuple[PixelChange, Problems], Depends(ParsedBody(PixelChange))]

    @router.get("", summary="List pixels", response_model=Paginated[PixelJson], openapi_extra=query_parameters(*PAGING))
    async def browse(caller: reader, request: Request) -> Response:
        pixels = await service.list_pixels(deps, caller, require_pagination(request))
        return paginated(pixels.map(to_json), request, deps.base_url)

    @router.post("", summary="Create a pixel", status_code=201, response_model=Data[PixelJson])
    async def create(caller: writer, body: new_pixel) -> Response:
        """With an access token, events are also sent to the platform's server. Neither the pixel ID nor the token is
        ever shown again.
        """
        return data(to_json(await service.create(deps, caller, *body)), 201)

    @router.get(_PATH, summary="Get a pixel", response_model=Data[PixelJson])
    async def find(caller: reader, pixel_id: id_of_path) -> Response:
        return data(to_json(await service.get(deps, caller, pixel_id)))

    @router.patch(_PATH, summary="Change a pixel", response_model=Data[PixelJson])
    async def change(caller: writer, pixel_id: id_of_path, body: pixel_change) -> Response:
        return data(to_json(await service.change(deps, caller, pixel_id, *body)))

    @router.delete(_PATH, summary="Delete a pixel", status_code=204)
    async def delete(caller: writer, pixel_id: id_of_path) -> Response:
        """Its links keep working without it."""
        await service.delete(deps, caller, pixel_id)
        return no_content()

    @router.get(
        f"{_PATH}/results", summary="Get the results of a pixel's events", response_model=Data[PixelResultsJson]
    )
    async def results(caller: reader, pixel_id: id_of_path) -> Response:
        """How many events the platform accepted, and why it rejected the last one that it rejected."""
        return data(results_to_json(await service.get_results(deps, caller, pixel_id)))

    return router
