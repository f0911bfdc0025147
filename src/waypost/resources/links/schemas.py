"""Fields that a request can send for a link, with types and lengths, and the JSON of a link. `checks` has other rules.

A blank title, og_title or og_description counts as null: on create it is scraped from the page, on change it is
cleared. A blank og_image is not an absolute URL and is refused.
"""

from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import AfterValidator, InstanceOf
from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.fields import (
    NOT_BLANK,
    URI,
    Body,
    Documented,
    IdText,
    LongText,
    Text,
    Timestamp,
    TimestampText,
    Upload,
    UriText,
    max_characters,
    max_entries,
    max_keys,
)
from waypost.kit.ids import parse_id
from waypost.kit.urls import UTM_KEYS, UtmKey
from waypost.resources.domains import names
from waypost.resources.links.images import media
from waypost.resources.links.model import Link, LinkStatus

MAX_URL = 2048
MAX_SLUG = 255
MAX_PIXELS = 20
MAX_TAGS = 100


ShortText = Annotated[Text, max_characters(255)]
UrlText = Annotated[Text, max_characters(MAX_URL), URI]
NullIfBlank = AfterValidator(lambda text: text if text.strip() else None)
Unique = AfterValidator(lambda entries: list(dict.fromkeys(entries)))  # in the order of their first occurrence
TagList = Annotated[list[Annotated[ShortText, NOT_BLANK]], max_entries(MAX_TAGS), Unique]
UtmParams = Annotated[dict[UtmKey, ShortText | None], max_keys(20)]
Slug = Annotated[Text, Documented({"maxLength": MAX_SLUG, "pattern": "^[A-Za-z0-9_-]+$"})]
PixelIds = Annotated[list[Any], max_entries(MAX_PIXELS), Documented({"items": {"type": "string", "format": "uuid"}})]
HostnameText = Annotated[Text, AfterValidator(names.canonical_or_lower)]


class LinkFields(Body):
    destination_url: UrlText | None = None
    slug: Slug | None = None
    title: Annotated[ShortText, NullIfBlank] | None = None
    hostname: HostnameText | None = None
    og_title: Annotated[ShortText, NullIfBlank] | None = None
    og_description: Annotated[LongText, max_characters(5000), NullIfBlank] | None = None
    og_image: UrlText | None = None
    og_image_file: InstanceOf[Upload] | None = None
    utm_params: UtmParams | None = None
    tags: TagList | None = None
    expires_at: Timestamp | None = None
    pixel_ids: PixelIds | None = None  # `checks` validates each id

    @property
    def utm(self) -> dict[str, str]:
        return {key: value for key, value in (self.utm_params or {}).items() if value}

    @property
    def pixels(self) -> list[UUID]:
        """The pixel ids without duplicates, in order; invalid ids are dropped."""
        ids = (parse_id(text) for text in self.pixel_ids or [] if isinstance(text, str))
        return list(dict.fromkeys(id_ for id_ in ids if id_))


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
    """Changes the fields that were sent; null clears."""

    NOT_NULL = ("destination_url", "slug", "status")
    EXAMPLE: ClassVar = {"title": "Spring sale", "tags": ["mail", "sale"], "status": "active"}

    status: LinkStatus | None = None

    def sends(self, field: str) -> bool:
        return field in self.model_fields_set


class LinkJson(TypedDict):
    id: IdText
    title: str
    destination_url: UriText
    short_url: str
    slug: str
    hostname: str
    og_title: str | None
    og_description: str | None
    og_image: UriText | None
    utm_params: dict[UtmKey, str]
    tags: list[str]
    expires_at: TimestampText | None
    pixel_ids: list[IdText]
    clicks: int
    status: LinkStatus
    created_at: TimestampText
    updated_at: TimestampText


def to_json(link: Link, *, shared_domain: str, base_url: str, now: datetime) -> LinkJson:
    """Return the link object, with its keys in the documented order."""
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
        "og_image": media.url(base_url, link.og_image_file_name) if link.og_image_file_name else link.og_image,
        # JSONB stores keys in another order
        "utm_params": {key: link.utm_params[key] for key in UTM_KEYS if key in link.utm_params},
        "tags": link.tags,
        "expires_at": timestamp(link.expires_at) if link.expires_at else None,
        "pixel_ids": [str(id_) for id_ in link.pixel_ids],
        "clicks": link.clicks,
        "status": link.status_at(now),
        "created_at": timestamp(link.created_at),
        "updated_at": timestamp(link.updated_at),
    }
