"""What may be sent for a link, by type and length, and how a link is shown. Rules that need more are in `checks`.

A blank title, og_title or og_description reads as null: on create what the page says takes its place, on change it
is cleared. A blank og_image is no absolute URL and is refused.
"""

from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import AfterValidator, InstanceOf
from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.fields import (
    NOT_BLANK,
    Body,
    Documented,
    IdText,
    LongText,
    Text,
    Timestamp,
    TimestampText,
    Upload,
    max_characters,
    max_entries,
    max_keys,
)
from waypost.kit.ids import parse_id
from waypost.kit.urls import UTM_KEYS, UtmKey
from waypost.resources.domains import names
from waypost.resources.links import media, rules
from waypost.resources.links.model import Link, LinkStatus


def _unless_blank(text: str) -> str | None:
    return text if text.strip() else None


def _given(params: dict[UtmKey, str | None]) -> dict[UtmKey, str | None]:
    """Null and the empty string say: not this one."""
    return {key: value for key, value in params.items() if value}


def _distinct(tags: list[str]) -> list[str]:
    """Each tag once, at its first place."""
    return list(dict.fromkeys(tags))


def canonical_name(text: str) -> str:
    """What is no host name stays what it is, which is nobody's domain."""
    try:
        return names.canonical(text)
    except names.BadName:
        return text.lower()


Line = Annotated[Text, max_characters(255)]
Address = Annotated[Text, max_characters(rules.MAX_URL)]
Shown = AfterValidator(_unless_blank)
Slug = Annotated[Text, Documented({"maxLength": rules.MAX_SLUG, "pattern": "^[A-Za-z0-9_-]+$"})]
PixelIds = Annotated[
    list[Any], max_entries(rules.MAX_PIXELS), Documented({"items": {"type": "string", "format": "uuid"}})
]
Tags = Annotated[list[Annotated[Line, NOT_BLANK]], max_entries(100), AfterValidator(_distinct)]
UtmParams = Annotated[dict[UtmKey, Line | None], max_keys(20), AfterValidator(_given)]


Hostname = Annotated[Text, AfterValidator(canonical_name)]


class LinkFields(Body):
    destination_url: Address | None = None
    slug: Slug | None = None
    title: Annotated[Line, Shown] | None = None
    hostname: Hostname | None = None
    og_title: Annotated[Line, Shown] | None = None
    og_description: Annotated[LongText, max_characters(5000), Shown] | None = None
    og_image: Address | None = None
    og_image_file: InstanceOf[Upload] | None = None
    utm_params: UtmParams | None = None
    tags: Tags | None = None
    expires_at: Timestamp | None = None
    pixel_ids: PixelIds | None = None  # each is looked at in `checks`

    @property
    def utm(self) -> dict[str, str]:
        return {key: value for key, value in (self.utm_params or {}).items() if value}

    @property
    def pixels(self) -> list[UUID]:
        """Each once, at its first place; what is no id is left out."""
        read = (parse_id(each) for each in self.pixel_ids or [] if isinstance(each, str))
        return list(dict.fromkeys(id_ for id_ in read if id_))


class NewLink(LinkFields):
    """Null in a field means the same as leaving it out."""

    REQUIRED = ("destination_url",)
    EXAMPLE: ClassVar = {
        "destination_url": "https://example.com/pricing",
        "slug": "spring",
        "utm_params": {"utm_source": "newsletter", "utm_campaign": "spring"},
        "tags": ["mail"],
    }


class LinkChange(LinkFields):
    """`model_fields_set` tells what is to change; null clears."""

    NOT_NULL = ("destination_url", "slug", "status")
    EXAMPLE: ClassVar = {"title": "Spring sale", "tags": ["mail", "sale"], "status": "active"}

    status: LinkStatus | None = None

    def sends(self, field: str) -> bool:
        return field in self.model_fields_set


class LinkJson(TypedDict):
    id: IdText
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
    expires_at: TimestampText | None
    pixel_ids: list[IdText]
    clicks: int
    status: LinkStatus
    created_at: TimestampText
    updated_at: TimestampText


def to_json(link: Link, *, shared_domain: str, base_url: str, now: datetime) -> LinkJson:
    """The link object, its keys in the specification's order."""
    hostname = link.hostname or shared_domain
    return {
        "id": str(link.id),
        "title": link.title,
        "destination_url": link.destination_url,
        "short_url": f"{hostname}/{link.slug}",
        "slug": link.slug,
        "hostname": hostname,
        "og_title": link.og_title,
        "og_description": link.og_description,
        "og_image": media.url(base_url, link.og_image_media) if link.og_image_media else link.og_image,
        "utm_params": {
            key: link.utm_params[key] for key in UTM_KEYS if key in link.utm_params
        },  # JSONB sorts otherwise
        "tags": link.tags,
        "expires_at": timestamp(link.expires_at) if link.expires_at else None,
        "pixel_ids": [str(id_) for id_ in link.pixel_ids],
        "clicks": link.clicks,
        "status": rules.status(is_on=link.is_on, expires_at=link.expires_at, now=now),
        "created_at": timestamp(link.created_at),
        "updated_at": timestamp(link.updated_at),
    }
