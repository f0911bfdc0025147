"""Codes over JSON, and their images without a key. Thin: reads the request, calls a verb, writes the response."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from waypost.auth import Caller
from waypost.kit.errors import NotFound
from waypost.kit.fields import parse
from waypost.resources.qrcodes import openapi, rules, service
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.image_cache import CodeImage
from waypost.resources.qrcodes.model import QrCode
from waypost.resources.qrcodes.schemas import NewStyle, of_form, to_json
from waypost.resources.qrcodes.style import MEDIA_TYPES
from waypost.web import PREFIX, Guard, data, path_id, read_fields

_OF_LINK = "/links/{id}/qrcode"
_IMAGE = "/qrcodes/{id}/image/{format}"

_CACHING = {"Cache-Control": "public, max-age=86400"}
SAFE_HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}


async def _style_fields(request: Request) -> dict[str, Any]:
    """An empty body asks for the default style."""
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
    # the guard comes first in the signatures: without the scope to write, no body is read
    style_fields = Annotated[dict[str, Any], Depends(_style_fields)]

    def show(code: QrCode, status: int = 200) -> Response:
        warnings = list(rules.warnings(code.style, deps.encoded_url(code.target)))
        return data(to_json(code, warnings, deps.image_urls(code.id, code.style)), status)

    @router.get(_OF_LINK, **openapi.FIND)
    async def find(caller: reader, link_id: id_of_path) -> Response:
        return show(await service.find(deps, caller, link_id))

    @router.post(_OF_LINK, **openapi.SET_STYLE)
    async def set_style(caller: writer, link_id: id_of_path, fields: style_fields) -> Response:
        new, problems = parse(NewStyle, fields)
        return show(await service.set_style(deps, caller, link_id, new, problems), 201)

    async def image(request: Request) -> Response:
        guard.refuse_plain_http(request)
        return await show_image(deps, request)

    # without FastAPI's dependencies, which take longer than a cached image; the second route only documents it
    router.add_route(PREFIX + _IMAGE, image, ["GET"], include_in_schema=False)
    router.get(_IMAGE, **openapi.IMAGE)(image)
    return router


async def show_image(deps: Deps, request: Request) -> Response:
    """Raises NotFound, Forbidden, Unavailable."""
    image_format = request.path_params["format"]
    if image_format not in MEDIA_TYPES:
        raise NotFound
    style = deps.urls.verify(request.scope["raw_path"], request.scope["query_string"])
    account, target = await service.find_target(deps, UUID(request.path_params["id"]))
    image = CodeImage(deps.encoded_url(target), style, image_format)
    headers = {"ETag": image.etag, **_CACHING}
    if _is_cached(request, image.etag):
        return Response(status_code=304, headers=headers)
    content = await deps.image_cache.content(image, account=account)
    headers |= SAFE_HEADERS | {"Content-Disposition": f'inline; filename="{target.slug}.{image_format}"'}
    headers["Content-Length"] = str(len(content))
    body = b"" if request.method == "HEAD" else content
    return Response(body, media_type=MEDIA_TYPES[image_format], headers=headers)


def _is_cached(request: Request, etag: str) -> bool:
    """Whether the client has this version. `If-None-Match` compares weakly (RFC 9110)."""
    given = ",".join(request.headers.getlist("if-none-match"))
    return any(each.strip().removeprefix("W/") in {etag, "*"} for each in given.split(",")) if given else False
