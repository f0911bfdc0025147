"""What the OpenAPI document tells of links. Describes; no request comes here."""

from datetime import datetime
from typing import Any, get_args
from uuid import UUID

from pydantic import BaseModel

from waypost.kit.fields import ONE_LINE
from waypost.resources.links import rules
from waypost.resources.links.filters import MAX_SEARCH
from waypost.resources.links.model import LinkStatus
from waypost.resources.links.schemas import LinkChange, NewLink, UtmKey
from waypost.web.openapi import PAGING, One, Page, endpoint, parameter
from waypost.web.openapi_bodies import request_body


class Link(BaseModel):
    id: UUID
    title: str
    destination_url: str
    short_url: str
    slug: str
    hostname: str
    og_title: str | None
    og_description: str | None
    og_image: str | None
    utm_params: dict[UtmKey, str]
    tags: list[str]
    expires_at: datetime | None
    pixel_ids: list[UUID]
    clicks: int
    status: LinkStatus
    created_at: datetime
    updated_at: datetime


_ANY_TEXT = {"type": "string", "pattern": ONE_LINE}
_LINE = {"type": "string", "maxLength": 255, "pattern": ONE_LINE}
_DETAILS: dict[str, dict[str, Any]] = {
    "destination_url": {"maxLength": rules.MAX_URL},
    "slug": {"maxLength": rules.MAX_SLUG, "pattern": "^[A-Za-z0-9_-]+$"},
    "title": _LINE,
    "og_title": _LINE,
    "og_description": {"maxLength": 5000},
    "og_image": {"maxLength": rules.MAX_URL},
    "utm_params": {"additionalProperties": {"anyOf": [_LINE, {"type": "null"}]}},
    "tags": {"items": {**_LINE, "minLength": 1}, "maxItems": 100},
    "pixel_ids": {"items": {"type": "string", "format": "uuid"}, "maxItems": rules.MAX_PIXELS},
}
_NEW = request_body(
    NewLink,
    details=_DETAILS,
    required={"destination_url"},
    never_null={"destination_url"},
    example={
        "destination_url": "https://example.com/pricing",
        "slug": "spring",
        "utm_params": {"utm_source": "newsletter", "utm_campaign": "spring"},
        "tags": ["mail"],
    },
)
_CHANGE = request_body(
    LinkChange,
    details=_DETAILS,
    never_null={"destination_url", "slug", "status"},
    example={"title": "Spring sale", "tags": ["mail", "sale"], "status": "active"},
)
_FILTERS = (
    parameter("search", {**_ANY_TEXT, "maxLength": MAX_SEARCH}, "Text in title, slug or destination"),
    parameter("tag", _ANY_TEXT, "A tag, whole"),
    parameter("hostname", _ANY_TEXT, "A domain of the account, or the shared one"),
    parameter("status", {"type": "string", "enum": list(get_args(LinkStatus))}, "Whether the link resolves"),
)

BROWSE = endpoint(
    "List links",
    "Newest first. Filters narrow the list together.",
    scope="links:read",
    shows=Page[Link],
    query=(*PAGING, *_FILTERS),
    refuses=[422],
)
CREATE = endpoint(
    "Create a link",
    "The destination is fetched once: it must be reachable, public and safe. What its page says of itself becomes the"
    " card unless you send one.",
    scope="links:write",
    status=201,
    shows=One[Link],
    takes=_NEW,
    refuses=[413, 422],
)
FIND = endpoint("Get a link", scope="links:read", shows=One[Link], refuses=[404])
CHANGE = endpoint(
    "Change a link",
    "Changes what is sent and leaves the rest; null clears. Visitors are led the new way at once.",
    scope="links:write",
    shows=One[Link],
    takes=_CHANGE,
    refuses=[404, 413, 422],
)
DELETE = endpoint(
    "Delete a link",
    "Its address answers 404 at once. The slug can be taken again by this account only.",
    scope="links:write",
    status=204,
    refuses=[404],
)
