"""What the OpenAPI document tells of pixels. Describes; no request comes here."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from waypost.resources.pixels import model
from waypost.resources.pixels.schemas import MAX_TEXT, MAX_TOKEN, NewPixel, PixelChange
from waypost.web.openapi import PAGING, One, Page, endpoint
from waypost.web.openapi_bodies import request_body


class Pixel(BaseModel):
    id: UUID
    platform: model.Platform
    name: str
    created_at: datetime
    updated_at: datetime


class Results(BaseModel):
    sent: int
    rejected: int
    dropped: int
    sent_at: datetime | None
    reason: str | None
    reason_at: datetime | None


_LINE = {"minLength": 1, "maxLength": MAX_TEXT}
_DETAILS: dict[str, dict[str, Any]] = {
    "name": _LINE,
    "pixel_id": {**_LINE, "pattern": r"^[^\x00-\x1f\x7f-\xa0]*$", "writeOnly": True},
    "access_token": {"maxLength": MAX_TOKEN, "pattern": r"^[\x21-\x7e]*$", "writeOnly": True},
}
_REQUIRED = {"platform", "name", "pixel_id"}
_NEW = request_body(
    NewPixel,
    details=_DETAILS,
    required=_REQUIRED,
    never_null=_REQUIRED,
    example={"platform": "facebook", "name": "Shop", "pixel_id": "1234567890"},
)
_CHANGE = request_body(PixelChange, details=_DETAILS, never_null=_REQUIRED, example={"name": "Shop in Europe"})

BROWSE = endpoint("List pixels", scope="pixels:read", shows=Page[Pixel], query=PAGING, refuses=[422])
CREATE = endpoint(
    "Create a pixel",
    "With an access token, events are sent to the platform's server, too. Neither is ever shown again.",
    scope="pixels:write",
    status=201,
    shows=One[Pixel],
    takes=_NEW,
    refuses=[413, 422],
)
FIND = endpoint("Get a pixel", scope="pixels:read", shows=One[Pixel], refuses=[404])
CHANGE = endpoint("Change a pixel", scope="pixels:write", shows=One[Pixel], takes=_CHANGE, refuses=[404, 413, 422])
DELETE = endpoint(
    "Delete a pixel", "Links that fire it go on without it.", scope="pixels:write", status=204, refuses=[404]
)
RESULTS = endpoint(
    "Get what became of a pixel's events",
    "How many its platform took, and why it refused the last one that it did.",
    scope="pixels:read",
    shows=One[Results],
    refuses=[404],
)
