"""JSON endpoints of QR codes, and their images."""

from typing import Any, get_args
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from waypost.accounts import Caller
from waypost.kit.errors import NotFound, Problems
from waypost.kit.versions import Version, is_current
from waypost.resources.qrcodes import images, service
from waypost.resources.qrcodes.deps import Deps
from waypost.resources.qrcodes.model import QrCode
from waypost.resources.qrcodes.schemas import NewStyle, QrCodeJson, form_fields, to_json
from waypost.resources.qrcodes.style import MEDIA_TYPES, SAFE_HEADERS, ImageFormat, parse_style
from waypost.web import Data, Endpoint, Representation, has_no_content, parameter, read_fields

_OF_LINK = "/links/{id}/qrcode"
_IMAGE = "/qrcodes/{id}/image/{format}"

_TEXT = {"type": "string"}
_IMAGE_PARAMETERS = (
    {**parameter("format", {**_TEXT, "enum": list(get_args(ImageFormat))}, "png or svg", "png"), "in": "path"},
    {
        **parameter("v", _TEXT, "The style, as in the URL that the API returned", "1d3557-ffffff-Q-dots-512-4"),
        "required": True,
    },
    {
        **parameter("signature", _TEXT, "Signature of path and query, from the same URL", "4Jx0bq3Yk1s"),
        "required": True,
    },
)
_IMAGE_CONTENT = {kind: {"schema": {**_TEXT, "format": "binary"}} for kind in MEDIA_TYPES.values()}
_IMAGE_ANSWERS: dict[int, dict[str, Any]] = {
    200: {"description": "The image", "content": _IMAGE_CONTENT},
    304: {"description": "The image has not changed since the one in If-None-Match"},
}


async def _style_fields(request: Request) -> dict[str, Any]:
    """Read the fields of the style. An empty body selects the default style, also one that is declared as JSON."""
    if has_no_content(request):
        return {}
    fields = await read_fields(request)
    is_form = request.headers.get("content-type", "").lower().startswith("multipart/")
    return form_fields(fields) if is_form else fields


async def get(deps: Deps, caller: Caller, link_id: UUID) -> QrCode:
    """Includes the signed URLs of its image, and warnings if its style may be hard to scan."""
    return await service.get(deps, caller, link_id)


async def set_style(deps: Deps, caller: Caller, link_id: UUID, new: NewStyle, problems: Problems) -> QrCode:
    """An omitted or null field is reset to its default. Image URLs returned earlier keep working."""
    return await service.set_style(deps, caller, link_id, new, problems)


def _json(code: QrCode, deps: Deps, *_: object) -> QrCodeJson:
    layout = images.new_layout(deps, code, code.style)
    reasons = images.find_warnings(code, code.style, layout)
    return to_json(code, layout.level, reasons, deps.image_urls(code.id, code.style))


async def image(deps: Deps, request: Request) -> Response:
    """The signed URL needs no key, so it can be used in web pages, emails and print."""
    image_format = request.path_params["format"]
    if image_format not in MEDIA_TYPES:
        raise NotFound
    style = deps.urls.verify(request.scope["raw_path"], request.scope["query_string"])
    has_logo = parse_style(style).logo
    account, target, logo = await service.find_target(deps, UUID(request.path_params["id"]), has_logo=has_logo)
    drawing = images.new_image(deps, target, style, image_format, logo)
    # a code follows a new logo at once
    headers = {"ETag": drawing.etag, "Cache-Control": "public, no-cache" if has_logo else "public, max-age=86400"}
    if is_current(request.headers.getlist("if-none-match"), drawing.etag):
        return Response(status_code=304, headers=headers)
    content = await images.draw(deps, drawing, account=account)
    disposition = "attachment" if image_format == "pdf" else "inline"  # a sandbox has no viewer of PDF files
    headers |= SAFE_HEADERS | {
        "Content-Disposition": f'{disposition}; filename="{target.slug}.{image_format}"',
        "Content-Length": str(len(content)),
        "Content-Type": MEDIA_TYPES[image_format],
    }
    return Response(b"" if request.method == "HEAD" else content, headers=headers)


_SHOWN = Representation(
    _json, Version(lambda code: (code.target, code.style, code.logo, code.updated_at)), lambda code, *_: code.scans
)
ENDPOINTS = [
    Endpoint(
        "GET", _OF_LINK, get, "Get a link's QR code", "links:read", Data[QrCodeJson], name="qrcodes_get", shows=_SHOWN
    ),
    Endpoint(
        "POST",
        _OF_LINK,
        set_style,
        "Set the style of a link's QR code",
        "links:write",
        Data[QrCodeJson],
        201,
        name="qrcodes_set_style",
        errors=(412,),
        body=NewStyle,
        read=_style_fields,
        shows=_SHOWN,
    ),
    Endpoint(
        "GET",
        _IMAGE,
        image,
        "Get the image of a QR code",
        None,
        needs_key=False,
        parameters=_IMAGE_PARAMETERS,
        others=_IMAGE_ANSWERS,
        errors=(403, 404),
    ),
]
