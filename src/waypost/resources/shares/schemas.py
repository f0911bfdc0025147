"""Request fields of shares, and their JSON."""

from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.docs import doc, doc_as, field
from waypost.kit.fields import (
    Body,
    Documented,
    IdText,
    Text,
    Timestamp,
    TimestampText,
    UriText,
    Uuid,
    max_characters,
    max_entries,
    max_keys,
)
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, FILTER_TEXTS, FilterName
from waypost.resources.clicks.stats.query import EARLIEST, LATEST
from waypost.resources.links.routing.schemas import NameText, Password
from waypost.resources.links.schemas import HostnameText
from waypost.resources.shares.model import Share

MAX_HIDE_BELOW = 100
MAX_ORIGINS = 20


def _in_range(at: datetime) -> datetime:
    if not EARLIEST <= at <= LATEST:
        raise ValueError(f"This must lie between the years {EARLIEST.year} and {LATEST.year}.")
    return at


_VALUES = {"type": "array", "items": {"type": "string"}}
_TEXTS = {
    name: {"description": f"{text}; `-` before one excludes it", "examples": [[example]]}
    for name, (text, example) in FILTER_TEXTS.items()
}
_FILTERS = Documented(
    {"propertyNames": {"enum": list(ACCOUNT_FILTERS)}, "additionalProperties": _VALUES, "properties": _TEXTS}
)
RangeTime = Annotated[Timestamp, AfterValidator(_in_range)]


class ShareFields(Body):
    name: NameText | None = field("Name, which visitors see")
    link_id: Uuid | None = field("ID of the link whose statistics are shown", "01a1fbb2-2855-72ee-8e77-c161c4205e89")
    tag: NameText | None = field("Tag of the links whose statistics are shown", "spring")
    hostname: HostnameText | None = field("Hostname of the links whose statistics are shown", "go.example.com")
    filters: Annotated[dict[str, Any], max_keys(len(ACCOUNT_FILTERS)), _FILTERS] | None = field(
        "Filters as in statistics, each with a value or a list of values. Only clicks that match are shown",
        {"country": ["DE", "AT"]},
    )
    from_: RangeTime | None = field(
        "Start of the time range that can be seen; null for no limit", "2026-11-01T00:00:00.000000Z", alias="from"
    )
    to: RangeTime | None = field(
        "End of the time range that can be seen, exclusive; null for no limit", "2026-12-01T00:00:00.000000Z"
    )
    password: Password | None = field(
        "4 to 128 characters that visitors have to enter; null for none. It is never returned.",
        "correct horse",
        repr=False,
    )
    expires_at: Timestamp | None = field("Time of expiry; null for never", "2030-01-31T12:00:00.000000Z")
    hide_below: Annotated[int, Field(ge=0, le=MAX_HIDE_BELOW)] | None = field(
        "Entries with fewer clicks are summed up as `(other)`, and smaller totals are not shown. 0 shows all", 5
    )
    embed_origins: Annotated[list[Annotated[Text, max_characters(300)]], max_entries(MAX_ORIGINS)] | None = field(
        "Origins of pages that may embed the statistics: https, or http on localhost", ["https://www.example.com"]
    )


class NewShare(ShareFields):
    """Null in a field means the same as leaving it out."""

    REQUIRED = ("name",)
    EXAMPLE: ClassVar = {"name": "Spring campaign", "tag": "spring", "hide_below": 5}


class ShareChange(ShareFields):
    """Changes the fields that were sent; null clears them."""

    NOT_NULL = ("name",)
    EXAMPLE: ClassVar = {"name": "Spring campaign 2026"}


_URL = "https://go.example.com/share/m7Jw2l5Vx0aE8Qd1uZ4tR6yB9nK3cH5pS7fG2jL8wXo"
_FromJson = TypedDict("_FromJson", {"from": Annotated[TimestampText | None, doc_as(ShareFields, "from_")]})


class ShareJson(_FromJson):
    id: Annotated[IdText, doc("ID", "01a1fbb2-6c1d-7d0e-9a4b-3f5e7d9c1b20")]
    name: Annotated[str, doc("Name, which visitors see", "Spring campaign")]
    link_id: Annotated[IdText | None, doc_as(ShareFields, "link_id", None)]
    tag: Annotated[str | None, doc_as(ShareFields, "tag")]
    hostname: Annotated[str | None, doc_as(ShareFields, "hostname", None)]
    filters: Annotated[
        dict[FilterName, list[str]], _FILTERS, doc("Only clicks that match are shown", {"country": ["DE", "AT"]})
    ]
    to: Annotated[TimestampText | None, doc_as(ShareFields, "to")]
    has_password: Annotated[bool, doc("Whether visitors have to enter a password", False)]
    expires_at: Annotated[TimestampText | None, doc_as(ShareFields, "expires_at", None)]
    hide_below: Annotated[int, doc_as(ShareFields, "hide_below")]
    embed_origins: Annotated[list[str], doc_as(ShareFields, "embed_origins")]
    url: Annotated[UriText | None, doc("URL of the statistics; null unless the key has `links:write`", _URL)]
    embed_url: Annotated[
        UriText | None,
        doc(
            "URL for a frame in pages of `embed_origins`; null without these, and unless the key has `links:write`",
            f"{_URL}/embed/pT4vLq9sX2mC7bN5kJ8hG3fD6wR1yZ0aQeUiOxVtBnM",
        ),
    ]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]
    updated_at: Annotated[TimestampText, doc("Time of the last change", "2026-11-20T02:56:16.123456Z")]


def to_json(share: Share, *, url: str | None, embed_url: str | None) -> ShareJson:
    return {
        "id": str(share.id),
        "name": share.name,
        "link_id": str(share.link_id) if share.link_id else None,
        "tag": share.tag,
        "hostname": share.hostname,
        "filters": {name: share.filters[name] for name in ACCOUNT_FILTERS if name in share.filters},
        "from": timestamp(share.range_start) if share.range_start else None,
        "to": timestamp(share.range_end) if share.range_end else None,
        "has_password": share.password_hash is not None,
        "expires_at": timestamp(share.expires_at) if share.expires_at else None,
        "hide_below": share.hide_below,
        "embed_origins": list(share.embed_origins),
        "url": url,
        "embed_url": embed_url,
        "created_at": timestamp(share.created_at),
        "updated_at": timestamp(share.updated_at),
    }
