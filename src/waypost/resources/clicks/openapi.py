"""What the OpenAPI document tells of lists of clicks. Describes; no request comes here."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from waypost.kit.fields import ONE_LINE
from waypost.resources.clicks.filters import ALL, DEVICES, MAX_TEXT, UNKNOWN
from waypost.resources.clicks.model import HUMAN, KINDS, Kind
from waypost.web.openapi import PAGING, Page, endpoint, parameter


class Click(BaseModel):
    id: UUID
    link_id: UUID
    ip: str
    country: str
    visitor_id: str
    referrer: str
    device: str
    browser: str
    platform: str
    created_at: datetime
    is_scan: bool
    kind: Kind
    bot: str | None


_TEXT = {"type": "string"}
_LINE = {**_TEXT, "maxLength": MAX_TEXT, "pattern": ONE_LINE}
FROM = parameter("from", {**_TEXT, "format": "date-time"}, "From this moment on")
TO = parameter("to", {**_TEXT, "format": "date-time"}, "Before this moment")
_LINK_ID = parameter("link_id", {**_TEXT, "format": "uuid"}, "Of this link only")
_FILTERS = (
    FROM,
    TO,
    parameter(
        "country",
        {**_TEXT, "pattern": f"^([A-Za-z][A-Za-z0-9]|{UNKNOWN['country']})$"},
        f"Its code of two letters, or `{UNKNOWN['country']}`",
    ),
    parameter("device", {**_TEXT, "enum": list(DEVICES)}, "What the visitor held"),
    parameter("browser", _LINE, "Its family"),
    parameter("platform", _LINE, "The operating system's family"),
    parameter("referrer", _LINE, f"Origin and path of the referring page, or `{UNKNOWN['referrer']}`"),
    parameter("kind", {**_TEXT, "enum": [*KINDS, ALL], "default": HUMAN}, "Who came; only people are clicks"),
)

BROWSE = endpoint(
    "List clicks",
    "Of all links, newest first. Bots and link previews are no clicks; ask for them by their kind.",
    scope="links:read",
    shows=Page[Click],
    query=(*PAGING, _LINK_ID, *_FILTERS),
    refuses=[404, 422],
)
BROWSE_LINK = endpoint(
    "List a link's clicks",
    "Newest first, with the same filters.",
    scope="links:read",
    shows=Page[Click],
    query=(*PAGING, *_FILTERS),
    refuses=[404, 422],
)
