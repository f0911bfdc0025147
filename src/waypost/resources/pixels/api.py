"""JSON endpoints of pixels."""

from operator import attrgetter
from uuid import UUID

from waypost.accounts import Caller
from waypost.context import Context
from waypost.kit.errors import Problems
from waypost.kit.pagination import Page, PageRequest
from waypost.kit.versions import Version
from waypost.resources.pixels import service
from waypost.resources.pixels.model import Pixel
from waypost.resources.pixels.schemas import (
    NewPixel,
    PixelChange,
    PixelJson,
    PixelResultsJson,
    results_to_json,
    to_json,
)
from waypost.web import PAGING, Data, Endpoint, Paginated, Representation

_ONE = "/pixels/{id}"


async def list_(context: Context, caller: Caller, page: PageRequest) -> Page[PixelJson]:
    """Newest first. Neither the pixel ID nor the token is returned."""
    return (await service.list_pixels(context, caller, page)).map(to_json)


async def create(context: Context, caller: Caller, new: NewPixel, problems: Problems) -> PixelJson:
    """With an access token, events are also sent to the platform's server. Neither the pixel ID nor the token is
    ever shown again.
    """
    return to_json(await service.create(context, caller, new, problems))


async def get(context: Context, caller: Caller, pixel_id: UUID) -> Pixel:
    """Neither the pixel ID nor the token is returned."""
    return await service.get(context, caller, pixel_id)


async def update(context: Context, caller: Caller, pixel_id: UUID, change: PixelChange, problems: Problems) -> Pixel:
    """Changes the fields that you send and keeps the others. The next click on each of its links uses them."""
    return await service.change(context, caller, pixel_id, change, problems)


async def delete(context: Context, caller: Caller, pixel_id: UUID) -> None:
    """Its links keep working without it."""
    await service.delete(context, caller, pixel_id)


async def results(context: Context, caller: Caller, pixel_id: UUID) -> PixelResultsJson:
    """How many events the platform accepted and rejected, and the reason of the last rejection."""
    return results_to_json(await service.get_results(context, caller, pixel_id))


_SHOWN = Representation(lambda pixel, *_: to_json(pixel), Version(attrgetter("platform", "name", "updated_at")))
ENDPOINTS = [
    Endpoint("GET", "/pixels", list_, "List pixels", "pixels:read", Paginated[PixelJson], parameters=PAGING),
    Endpoint("POST", "/pixels", create, "Create a pixel", "pixels:write", Data[PixelJson], 201, body=NewPixel),
    Endpoint("GET", _ONE, get, "Get a pixel", "pixels:read", Data[PixelJson], shows=_SHOWN),
    Endpoint("PATCH", _ONE, update, "Change a pixel", "pixels:write", Data[PixelJson], body=PixelChange, shows=_SHOWN),
    Endpoint("DELETE", _ONE, delete, "Delete a pixel", "pixels:write", status=204, shows=_SHOWN),
    Endpoint(
        "GET", f"{_ONE}/results", results, "Get the results of a pixel's events", "pixels:read", Data[PixelResultsJson]
    ),
]
