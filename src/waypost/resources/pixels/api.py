"""JSON endpoints of pixels."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from waypost.accounts import Caller
from waypost.context import Context
from waypost.kit.errors import Problems
from waypost.resources.pixels import service
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

_PATH = "/{id}"
# parameters after the caller: the body of a caller without permission is not read
NewPixelBody = Annotated[tuple[NewPixel, Problems], Depends(ParsedBody(NewPixel))]
PixelChangeBody = Annotated[tuple[PixelChange, Problems], Depends(ParsedBody(PixelChange, is_required=False))]


def endpoints(context: Context, guard: Guard) -> APIRouter:
    router = new_router("pixels", "/pixels")
    Reader = Annotated[Caller, Depends(guard.allow("pixels:read"))]  # noqa: N806  # a type
    Writer = Annotated[Caller, Depends(guard.allow("pixels:write"))]  # noqa: N806  # a type

    @router.get(
        "",
        name="list",
        summary="List pixels",
        response_model=Paginated[PixelJson],
        openapi_extra=query_parameters(*PAGING),
    )
    async def list_pixels(caller: Reader, request: Request) -> Response:
        """Newest first. Neither the pixel ID nor the token is returned."""
        pixels = await service.list_pixels(context, caller, require_pagination(request))
        return paginated(pixels.map(to_json), request, context.base_url)

    @router.post("", summary="Create a pixel", status_code=201, response_model=Data[PixelJson])
    async def create(caller: Writer, body: NewPixelBody) -> Response:
        """With an access token, events are also sent to the platform's server. Neither the pixel ID nor the token is
        ever shown again.
        """
        return data(to_json(await service.create(context, caller, *body)), 201)

    @router.get(_PATH, name="get", summary="Get a pixel", response_model=Data[PixelJson])
    async def get(caller: Reader, pixel_id: PathId) -> Response:
        """Neither the pixel ID nor the token is returned."""
        return data(to_json(await service.get(context, caller, pixel_id)))

    @router.patch(_PATH, summary="Change a pixel", response_model=Data[PixelJson])
    async def update(caller: Writer, pixel_id: PathId, body: PixelChangeBody) -> Response:
        """Changes the fields that you send and keeps the others. The next click on each of its links uses them."""
        return data(to_json(await service.change(context, caller, pixel_id, *body)))

    @router.delete(_PATH, summary="Delete a pixel", status_code=204)
    async def delete(caller: Writer, pixel_id: PathId) -> Response:
        """Its links keep working without it."""
        await service.delete(context, caller, pixel_id)
        return no_content()

    @router.get(
        f"{_PATH}/results",
        name="results",
        summary="Get the results of a pixel's events",
        response_model=Data[PixelResultsJson],
    )
    async def get_results(caller: Reader, pixel_id: PathId) -> Response:
        """How many events the platform accepted and rejected, and the reason of the last rejection."""
        return data(results_to_json(await service.get_results(context, caller, pixel_id)))

    return router
