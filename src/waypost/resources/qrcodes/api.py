"""JSON endpoints of QR codes, and their images."""

from typing import Annotated, Any, get_args
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from waypost.accounts import Caller
from waypost.kit.errors import NotFound, Problems
from waypost.resources.qrcodes import service
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.image_cache import CodeImage
from waypost.resources.qrcodes.image_response import image_headers, is_cached
from waypost.resources.qrcodes.model import QrCode, link_id_of
from waypost.resources.qrcodes.schemas import NewStyle, QrCodeJson, form_fields, to_json
from waypost.resources.qrcodes.style import MEDIA_TYPES, ImageFormat, warnings
from waypost.web import (
    PREFIX,
    Data,
    Guard,
    ParsedBody,
    PathId,
    data,
    error_responses,
    has_no_content,
    new_router,
    parameter,
    query_parameters,
    read_fields,
)

_LINK_PATH = "/links/{id}/qrcode"
_IMAGE = "/qrcodes/{id}/image/{format}"

_TEXT = {"type": "string"}
_IMAGE_PARAMETERS = (
    {"name": "id", "in": "path", "required": True, "schema": {**_TEXT, "format": "uuid"}},
    {"name": "format", "in": "path", "required": True, "schema": {**_TEXT, "enum": list(get_args(ImageFormat))}},
    {
        **parameter("v", _TEXT, "The style, as in the URL that the API returned", "1-1d3557-ffffff-Q-dots-512-4"),
        "required": True,
    },
    {
        **parameter("signature", _TEXT, "Signature of path and query, from the same URL", "4Jx0bq3Yk1s"),
        "required": True,
    },
)
_IMAGE_CONTENT = {kind: {"schema": {**_TEXT, "format": "binary"}} for kind in MEDIA_TYPES.values()}
_IMAGE_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The image", "content": _IMAGE_CONTENT},
    304: {"description": "The image has not changed since the one in If-None-Match"},
    **error_responses(403, 404),
}


async def _style_fields(request: Request) -> dict[str, Any]:
    """Read the fields of the style. An empty body selects the default style, also one that is declared as JSON."""
    if has_no_content(request):
        return {}
    fields = await read_fields(request)
    is_form = request.headers.get("content-type", "").lower().startswith("multipart/")
    return form_fields(fields) if is_form else fields


# parameters after the caller: the body of a caller without permission is not read
NewStyleBody = Annotated[tuple[NewStyle, Problems], Depends(ParsedBody(NewStyle, _style_fields, is_required=False))]


def endpoints(deps: Deps, guard: Guard) -> APIRouter:
    router = new_router("qrcodes")
    Reader = Annotated[Caller, Depends(guard.allow("links:read"))]  # noqa: N806  # a type
    Writer = Annotated[Caller, Depends(guard.allow("links:write"))]  # noqa: N806  # a type

    def code_json(code: QrCode, status: int = 200) -> Response:
        reasons = list(warnings(code.style, deps.encoded_url(code.target)))
        return data(to_json(code, reasons, deps.image_urls(code.id, code.style)), status)

    @router.get(_LINK_PATH, name="get", summary="Get a link's QR code", response_model=Data[QrCodeJson])
    async def get(caller: Reader, link_id: PathId) -> Response:
        """Includes the signed URLs of its image, and warnings if its style may be hard to scan."""
        return code_json(await service.get(deps, caller, link_id))

    @router.post(
        _LINK_PATH, summary="Set the style of a link's QR code", status_code=201, response_model=Data[QrCodeJson]
    )
    async def set_style(caller: Writer, link_id: PathId, body: NewStyleBody) -> Response:
        """An omitted or null field is reset to its default. Image URLs returned earlier keep working."""
        return code_json(await service.set_style(deps, caller, link_id, *body), 201)

    async def image(request: Request) -> Response:
        """The signed URL needs no key, so it can be used in web pages, emails and print."""
        guard.refuse_plain_http(request)
        return await show_image(deps, request)

    # answers HEAD, too, which FastAPI does not add to GET; the second route only documents it
    router.add_route(PREFIX + _IMAGE, image, ["GET"], include_in_schema=False)
    router.get(
        _IMAGE,
        summary="Get the image of a QR code",
        response_class=Response,
        responses=_IMAGE_RESPONSES,
        openapi_extra=query_parameters(*_IMAGE_PARAMETERS),
    )(image)
    return router


async def show_image(deps: Deps, request: Request) -> Response:
    """Return the image, drawn or from the cache. Raises NotFound, Forbidden, Unavailable."""
    image_format = request.path_params["format"]
    if image_format not in MEDIA_TYPES:
        raise NotFound
    style = deps.urls.verify(request.scope["raw_path"], request.scope["query_string"])
    code_id = UUID(request.path_params["id"])
    account, target = await service.find_target(deps, code_id)
    image = CodeImage(deps.encoded_url(target), style, image_format)
    host = target.hostname or deps.shared_domain
    deps.known_images.add(request.scope, image, link_id_of(code_id), target, host, account)
    slug = target.slug.encode()
    if is_cached(request, image.etag):
        return _response(b"", 304, image_headers(image, slug, None))
    content = await deps.image_cache.get_or_draw(image, account=account)
    return _response(b"" if request.method == "HEAD" else content, 200, image_headers(image, slug, len(content)))


def _response(body: bytes, status: int, headers: list[tuple[bytes, bytes]]) -> Response:
    response = Response(body, status)
    response.raw_headers = headers
    return response
