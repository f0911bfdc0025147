"""The OpenAPI description of QR codes."""

from datetime import datetime
from typing import Any
from uuid import UUID

from fastapi import Response
from pydantic import BaseModel

from waypost.resources.qrcodes.schemas import NewStyle
from waypost.resources.qrcodes.style import MEDIA_TYPES, ErrorCorrection, ModuleStyle
from waypost.web.openapi import One, endpoint, parameter, refusals
from waypost.web.openapi_bodies import request_body


class QrCode(BaseModel):
    id: UUID
    link_id: UUID
    foreground: str
    background: str
    level: ErrorCorrection
    style: ModuleStyle
    size: int
    margin: int
    warnings: list[str]
    scans: int
    image_url: str
    svg_url: str
    created_at: datetime
    updated_at: datetime


_COLOUR = {"pattern": "^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"}
_DETAILS: dict[str, dict[str, Any]] = {"foreground": _COLOUR, "background": _COLOUR}
_STYLE = request_body(
    NewStyle,
    details=_DETAILS,
    example={"foreground": "#1d4ed8", "background": "#ffffff", "style": "dots", "level": "Q"},
) | {"required": False}

FIND = endpoint(
    "Get a link's QR code",
    "Includes the signed URLs of its image, and warnings if its style may be hard to scan.",
    scope="links:read",
    shows=One[QrCode],
    refuses=[404],
)
SET_STYLE = endpoint(
    "Set the style of a link's QR code",
    "An omitted or null field is reset to its default. Image URLs returned earlier keep working.",
    scope="links:write",
    status=201,
    shows=One[QrCode],
    takes=_STYLE,
    refuses=[404, 413, 422],
)

_TEXT = {"type": "string"}
_BINARY = {"type": "string", "format": "binary"}
_IN_PATH = (
    {"name": "id", "in": "path", "required": True, "schema": {**_TEXT, "format": "uuid"}},
    {"name": "format", "in": "path", "required": True, "schema": {**_TEXT, "enum": list(MEDIA_TYPES)}},
)
_SIGNED = (
    {**parameter("v", _TEXT, "The style, as in the URL that the API returned"), "required": True},
    {
        **parameter("signature", _TEXT, "The signature, as in the URL that the API returned"),
        "required": True,
    },
)
IMAGE: dict[str, Any] = {
    "summary": "Get a QR code image",
    "description": "Needs no API key, only the signed URL: for pages, emails and print.",
    "response_class": Response,
    "responses": {
        200: {"description": "The image", "content": {kind: {"schema": _BINARY} for kind in MEDIA_TYPES.values()}},
        304: {"description": "The image that If-None-Match names is current"},
        **refusals(403, 404),
    },
    "openapi_extra": {"security": [], "parameters": [*_IN_PATH, *_SIGNED]},
}
