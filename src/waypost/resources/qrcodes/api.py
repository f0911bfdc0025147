"""Codes over JSON, and their pictures. Thin: reads the request, calls a verb, shows the code."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from waypost.auth import Caller
from waypost.kit.fields import parse
from waypost.resources.qrcodes import image, openapi, rules, service
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.model import QrCode
from waypost.resources.qrcodes.schemas import NewStyle, of_form, shown
from waypost.web import PREFIX, Guard, data, path_id, read_fields

_OF_LINK = "/links/{id}/qrcode"
_IMAGE = "/qrcodes/{id}/image/{format}"


async def _sent(request: Request) -> dict[str, Any]:
    """No body at all asks for the default style."""
    if "transfer-encoding" not in request.headers and request.headers.get("content-length", "0") == "0":
        return {}
    fields = await read_fields(request)
    is_form = request.headers.get("content-type", "").lower().startswith("multipart/")
    return of_form(fields) if is_form else fields


def routes(deps: Deps, guard: Guard) -> APIRouter:
    router = APIRouter(prefix=PREFIX, tags=["qrcodes"])
    reader = Annotated[Caller, Depends(guard.allow("links:read"))]
    writer = Annotated[Caller, Depends(guard.allow("links:write"))]
    id_of_path = Annotated[UUID, Depends(path_id)]
    # every guard stands before it in the signatures: who may not write has no body read
    sent = Annotated[dict[str, Any], Depends(_sent)]

    def show(code: QrCode) -> dict[str, Any]:
        warnings = list(rules.warnings(code.style, deps.encoded(code.target)))
        png_url, svg_url = (deps.urls.url(code.id, code.style, form) for form in image.FORMATS)
        return shown(code, warnings=warnings, image_url=png_url, svg_url=svg_url)

    @router.get(_OF_LINK, **openapi.FIND)
    async def find(caller: reader, link_id: id_of_path) -> Response:
        return data(show(await service.find(deps, caller, link_id)))

    @router.post(_OF_LINK, **openapi.SET_STYLE)
    async def set_style(caller: writer, link_id: id_of_path, fields: sent) -> Response:
        wanted, problems = parse(NewStyle, fields)
        return data(show(await service.set_style(deps, caller, link_id, wanted, problems)), 201)

    async def draw(request: Request) -> Response:
        guard.refuse_plain_http(request)
        names = request.path_params
        return await image.show(deps, request, names["id"], names["format"])

    # without FastAPI's dependencies, which take longer than a kept picture; the second one only tells of it
    router.add_route(PREFIX + _IMAGE, draw, ["GET"], include_in_schema=False)
    router.get(_IMAGE, **openapi.IMAGE)(draw)
    return router
