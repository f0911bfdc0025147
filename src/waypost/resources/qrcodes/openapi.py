"""What the OpenAPI document tells of codes. Describes; no request comes here."""

from datetime import datetime
from typing import Any
from uuid import UUID

from fastapi import Response
from pydantic import BaseModel

from waypost.resources.qrcodes.image import FORMATS, TYPES
from waypost.resources.qrcodes.schemas import NewStyle
from waypost.resources.qrcodes.style import ErrorCorrection, ModuleStyle
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
_LOOK = request_body(
    NewStyle,
    details=_DETAILS,
    example={"foreground": "#1d4ed8", "background": "#ffffff", "style": "dots", "level": "Q"},
) | {"required": False}

FIND = endpoint(
    "Get a link's QR code",
    "With the signed addresses of its picture, and warnings where its look may be hard to read.",
    scope="links:read",
    shows=One[QrCode],
    refuses=[404],
)
SET_STYLE = endpoint(
    "Set the style of a link's QR code",
    "A field that is not sent, or null, gets its default again. Images that were fetched before keep working.",
    scope="links:write",
    status=201,
    shows=One[QrCode],
    takes=_LOOK,
    refuses=[404, 413, 422],
)

_TEXT = {"type": "string"}
_BINARY = {"type": "string", "format": "binary"}
_IN_PATH = (
    {"name": "id", "in": "path", "required": True, "schema": {**_TEXT, "format": "uuid"}},
    {"name": "format", "in": "path", "required": True, "schema": {**_TEXT, "enum": list(FORMATS)}},
)
_SIGNED = (
    {**parameter("v", _TEXT, "The style, as the API style_text it"), "required": True},
    {**parameter("signature", _TEXT, "Of path and query, as the API wrote it"), "required": True},
)
IMAGE: dict[str, Any] = {
    "summary": "Get the picture",
    "description": "By its signed address alone, without a key: for pages, mails and print.",
    "response_class": Response,
    "responses": {
        200: {"description": "The picture", "content": {kind: {"schema": _BINARY} for kind in TYPES.values()}},
        304: {"description": "The picture that If-None-Match names is still the one"},
        **refusals(403, 404),
    },
    "openapi_extra": {"security": [], "parameters": [*_IN_PATH, *_SIGNED]},
}
