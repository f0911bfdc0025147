"""Fields that a request can send for a link, with types and lengths, and the JSON of a link. `checks` has other rules.

A blank title, og_title or og_description counts as null: on create it is scraped from the page, on change it is
cleared. A blank og_image is not an absolute URL and is refused.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import AfterValidator, Field, InstanceOf
from typing_extensions import TypedDict

from waypost.context import Context
from waypost.kit.docs import doc, doc_as, field
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
    UriText,
    UrlText,
    max_characters,
    max_entries,
)
from waypost.kit.forward_query import from_text, to_text
from waypost.kit.ids import parse_id
from waypost.kit.json_object import json_object
from waypost.kit.utm import ShortText, UtmParams, UtmParamsJson, in_order, sent_values
from waypost.kit.versions import Version
from waypost.resources.domains import names
from waypost.resources.domains.options.schemas import FORWARD_PATH, FORWARD_QUERY, ForwardQueryField
from waypost.resources.links.images import media
from waypost.resources.links.model import Link, LinkStatus

MAX_SLUG = 255
MAX_PIXELS = 20
MAX_TAGS = 100
MAX_NOTE = 2_000
MAX_EXTERNAL_ID = 255
NOT_VISIBLE = "This must have no blanks and no invisible characters."


def _check_visible(text: str) -> str:
    if " " in text or not text.isprintable():
        raise ValueError(NOT_VISIBLE)
    return text


NullIfBlank = AfterValidator(lambda text: text if text.strip() else None)
Unique = AfterValidator(lambda entries: list(dict.fromkeys(entries)))  # in the order of their first occurrence
TagName = Annotated[ShortText, NOT_BLANK]
TagList = Annotated[list[TagName], max_entries(MAX_TAGS), Unique]
Slug = Annotated[Text, Documented({"maxLength": MAX_SLUG, "pattern": "^[A-Za-z0-9_-]+$"})]
PixelIds = Annotated[list[Any], max_entries(MAX_PIXELS), Documented({"items": {"type": "string", "format": "uuid"}})]
Note = Annotated[LongText, max_characters(MAX_NOTE), NullIfBlank]
ExternalId = Annotated[
    str,
    Field(min_length=1, max_length=MAX_EXTERNAL_ID),
    Documented({"pattern": r"^[^\s\x00-\x1f\x7f]+$"}, AfterValidator(_check_visible)),
]
HostnameText = Annotated[Text, AfterValidator(names.canonical_or_lower)]


class LinkOptionsChange(Body):
    """What is left out stays as it is; null resets an option to its default."""

    EXAMPLE: ClassVar = {"forward_query": ["utm_*", "gclid"], "external_id": "product-4711"}

    forward_query: ForwardQueryField | None = field(f"{FORWARD_QUERY}; null as the domain says", ["utm_*", "gclid"])
    forward_path: bool | None = field(f"{FORWARD_PATH}; null as the domain says", True)
    note: Note | None = field("Text for the members of the account, which searches find", "For the spring catalog")
    external_id: ExternalId | None = field(
        "ID of the link in another system: visible characters without blanks, unique in the account", "product-4711"
    )

    @property
    def values(self) -> dict[str, Any]:
        """The fields of a link that were sent."""
        sent = {name: getattr(self, name) for name in self.model_fields_set}
        return sent | ({"forward_query": to_text(self.forward_query)} if "forward_query" in sent else {})


class LinkFields(Body):
    NESTED: ClassVar = {"options": LinkOptionsChange}

    destination_url: UrlText | None = field(
        "http:// or https:// URL that visitors are redirected to, including the UTM parameters",
        "https://example.com/pricing",
    )
    slug: Slug | None = field(
        "Path of the short URL: letters, digits, hyphens and underscores. Default: generated", "spring"
    )
    title: Annotated[ShortText, NullIfBlank] | None = field(
        "Title. Default: the title of the destination's page", "Pricing"
    )
    hostname: HostnameText | None = field(
        "Verified or unverified domain of the account. Default: the shared domain", "go.brand.com"
    )
    og_title: Annotated[ShortText, NullIfBlank] | None = field("Title in link previews", "Pricing")
    og_description: Annotated[LongText, max_characters(5000), NullIfBlank] | None = field(
        "Description in link previews", "Plans for teams of every size."
    )
    og_image: UrlText | None = field("URL of the image in link previews", "https://example.com/card.png")
    og_image_file: InstanceOf[Upload] | None = field(
        "Image for link previews: JPEG, PNG, WebP or GIF of at most 2 MB. It replaces `og_image`.", "card.png"
    )
    utm_params: UtmParams | None = field("UTM parameters, which are added to the destination URL")
    tags: TagList | None = field("Tags", ["mail"])
    expires_at: Timestamp | None = field("Time of expiry; null for never", "2030-01-31T12:00:00.000000Z")
    pixel_ids: PixelIds | None = field(
        "IDs of the pixels that fire on the link", ["01a1fbb2-5e07-7c7a-9d1b-6b0b7a3c9e10"]
    )  # `checks` validates each id

    options: LinkOptionsChange | None = field("Options of the link; those that are left out stay as they are")

    def sends(self, field: str) -> bool:
        raise NotImplementedError

    @property
    def utm(self) -> dict[str, str]:
        return sent_values(self.utm_params)

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

    def sends(self, field: str) -> bool:
        return getattr(self, field) is not None


class LinkSync(LinkFields):
    """Creates a link as `NewLink`, or changes it as `LinkChange`."""

    EXAMPLE: ClassVar = NewLink.EXAMPLE


class LinkChange(LinkFields):
    """Changes the fields that were sent; null clears."""

    NOT_NULL = ("destination_url", "slug", "status")
    EXAMPLE: ClassVar = {"title": "Spring sale", "tags": ["mail", "sale"], "status": "active"}

    slug: Slug | None = field("Path of the short URL: letters, digits, hyphens and underscores", "spring")
    title: Annotated[ShortText, NullIfBlank] | None = field("Title", "Pricing")
    hostname: HostnameText | None = field("Domain of the account; null for the shared domain", "go.brand.com")
    status: LinkStatus | None = field("`inactive` disables the link")

    def sends(self, field: str) -> bool:
        return field in self.model_fields_set


class LinkJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    title: Annotated[str, doc("Title", "Pricing")]
    destination_url: Annotated[
        UriText,
        doc_as(LinkFields, "destination_url", "https://example.com/pricing?utm_source=newsletter&utm_campaign=spring"),
    ]
    short_url: Annotated[str, doc("Short URL, to share", "go.example.com/spring")]
    slug: Annotated[str, doc("Path of the short URL", "spring")]
    hostname: Annotated[str, doc("Custom domain of the link, or the shared domain", "go.example.com")]
    og_title: Annotated[str | None, doc_as(LinkFields, "og_title")]
    og_description: Annotated[str | None, doc_as(LinkFields, "og_description", None)]
    og_image: Annotated[UriText | None, doc_as(LinkFields, "og_image")]
    utm_params: Annotated[
        UtmParamsJson,
        doc_as(LinkFields, "utm_params", {"utm_campaign": "spring", "utm_source": "newsletter"}),
    ]
    tags: Annotated[list[str], doc_as(LinkFields, "tags")]
    expires_at: Annotated[TimestampText | None, doc_as(LinkFields, "expires_at", None)]
    pixel_ids: Annotated[list[IdText], doc_as(LinkFields, "pixel_ids", [])]
    clicks: Annotated[int, doc("Number of clicks by people, including QR code scans", 812)]
    status: Annotated[
        LinkStatus, doc("active, or inactive (disabled, expired, before its start or after its click limit)")
    ]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]
    updated_at: Annotated[TimestampText, doc("Time of the last change", "2026-11-20T02:56:16.123456Z")]


class LinkOptionsJson(TypedDict):
    link_id: Annotated[IdText, doc("ID of the link", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    forward_query: Annotated[ForwardQueryField | None, doc_as(LinkOptionsChange, "forward_query")]
    forward_path: Annotated[bool | None, doc_as(LinkOptionsChange, "forward_path", None)]
    note: Annotated[str | None, doc_as(LinkOptionsChange, "note")]
    external_id: Annotated[str | None, doc_as(LinkOptionsChange, "external_id")]
    updated_at: Annotated[TimestampText, doc("Time of the last change of the link", "2026-11-20T02:56:16.123456Z")]


def options_json(link: Link) -> LinkOptionsJson:
    return json_object(LinkOptionsJson, link, link_id=link.id, forward_query=from_text(link.forward_query))


def options_of(link: Link) -> dict[str, Any]:
    """Return the options as requests send them."""
    shown: Mapping[str, Any] = options_json(link)
    return {name: shown[name] for name in LinkOptionsChange.model_fields}


_NOT_IN_VERSION = {
    *("id", "account_id", "created_at", "created_by", "changed_by", "clicks"),
    *("domain_id", "folded_slug", "og_image_bytes", "utm_params"),  # other fields say the same
    *("starts_at", "click_limit"),  # of the routing
}
LINK_VERSION = Version(attrgetter(*(name for name in Link.__dataclass_fields__ if name not in _NOT_IN_VERSION)))


def to_json(link: Link, context: Context) -> LinkJson:
    return json_object(
        LinkJson,
        link,
        short_url=link.short_url(context.shared_domain),
        hostname=link.hostname or context.shared_domain,
        og_image=media.url(context.base_url, link.og_image_file_name) if link.og_image_file_name else link.og_image,
        utm_params=in_order(link.utm_params),  # JSONB stores keys in another order
        pixel_ids=[str(id_) for id_ in link.pixel_ids],
        status=link.status_at(context.clock()),
    )
