"""Bodies and answers of requests that create, change or delete many links."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NotRequired

from pydantic import BeforeValidator, ConfigDict
from typing_extensions import TypedDict

from waypost.kit.docs import doc, doc_as, field
from waypost.kit.errors import Errors, Problems
from waypost.kit.fields import Body, Documented, Text, Timestamp, max_entries, parse
from waypost.kit.utm import UtmParams
from waypost.resources.links.model import LinkStatus
from waypost.resources.links.schemas import (
    HostnameText,
    LinkChange,
    LinkJson,
    LinkOptionsChange,
    NewLink,
    PixelIds,
    TagList,
)

MAX_ROWS = 100

_TAGS_TWICE = "Send either tags, or add_tags and remove_tags."
_ADDED_AND_REMOVED = "This tag is in add_tags, too. Send it in one of the two."


def _not_empty(value: Any) -> Any:
    if value == []:
        raise ValueError("This must have at least 1 entry.")
    return value


NOT_EMPTY = Documented({"minItems": 1}, BeforeValidator(_not_empty))
ID_FORMAT = Documented({"items": {"type": "string", "format": "uuid"}})
Ids = Annotated[list[Text], ID_FORMAT, max_entries(MAX_ROWS), NOT_EMPTY]


class LinkSet(Body):
    """What to change in each of many links."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    NOT_NULL = ("status", "options", "utm_params", "add_tags", "remove_tags")
    NESTED: ClassVar = {"options": LinkOptionsChange}

    status: LinkStatus | None = field("`inactive` disables the links")
    expires_at: Annotated[Timestamp | None, doc_as(LinkChange, "expires_at")] = None
    hostname: Annotated[HostnameText | None, doc_as(LinkChange, "hostname")] = None
    pixel_ids: Annotated[PixelIds | None, doc_as(LinkChange, "pixel_ids")] = None
    options: Annotated[LinkOptionsChange | None, doc_as(LinkChange, "options")] = None
    utm_params: UtmParams | None = field(
        "UTM parameters to set in the destination of each link; null as a value removes one, and others stay",
        {"utm_source": "newsletter", "utm_medium": "email"},
    )
    tags: TagList | None = field(
        "Tags that replace those of each link; not together with `add_tags` or `remove_tags`", ["mail"]
    )
    add_tags: TagList | None = field("Tags to add; those that a link has already stay where they are")
    remove_tags: TagList | None = field("Tags to remove", ["draft"])

    def to_change(self) -> LinkChange:
        """Return the part that is the same for all links."""
        sent = (self.model_fields_set & LinkChange.model_fields.keys()) - {"utm_params"}
        return LinkChange(**{name: getattr(self, name) for name in sent})


def parse_set(sent: Mapping[str, Any]) -> tuple[LinkSet, Problems]:
    set_, problems = parse(LinkSet, sent)
    set_.check_required(problems)
    if "tags" in sent and not sent.keys().isdisjoint({"add_tags", "remove_tags"}):
        problems.add("tags", _TAGS_TWICE)
    for index, tag in enumerate(set_.remove_tags or []):
        if tag in (set_.add_tags or []):
            problems.add(f"remove_tags.{index}", _ADDED_AND_REMOVED)
    return set_, problems


class NewLinks(Body):
    """Each entry of `links` is parsed apart."""

    REQUIRED = ("links",)
    NESTED: ClassVar = {"links": NewLink}
    EXAMPLE: ClassVar = {"links": [NewLink.EXAMPLE, {"destination_url": "https://example.com/contact"}]}

    links: Annotated[list[Any], max_entries(MAX_ROWS), NOT_EMPTY] | None = field(
        "1 to 100 links to create, each with the fields of a link"
    )


class LinkChanges(Body):
    """`set` is parsed apart."""

    REQUIRED = ("ids", "set")
    NESTED: ClassVar = {"set": LinkSet}
    EXAMPLE: ClassVar = {
        "ids": ["01a1fbb2-2855-72ee-8e77-c161c4205e89"],
        "set": {"add_tags": ["sale"], "expires_at": "2030-01-31T12:00:00Z"},
    }

    ids: Ids | None = field("IDs of links, 1 to 100")
    set: dict[str, Any] | None = field("What to change in each of the links")


class LinkIds(Body):
    REQUIRED = ("ids",)
    EXAMPLE: ClassVar = {"ids": ["01a1fbb2-2855-72ee-8e77-c161c4205e89"]}

    ids: Ids | None = field("IDs of links, 1 to 100")


BulkCreateStatus = Literal["created", "invalid", "retry"]
BulkUpdateStatus = Literal["updated", "unchanged", "not_found", "invalid"]
BulkDeleteStatus = Literal["deleted", "not_found"]


class CreatedRowJson(TypedDict):
    index: Annotated[int, doc("Position in the list that was sent, from 0", 0)]
    status: Annotated[BulkCreateStatus, doc("Status")]
    link: NotRequired[Annotated[LinkJson, doc("The link that was created")]]
    errors: NotRequired[Annotated[Errors, doc("Problems of each field")]]


class CreatedMetaJson(TypedDict):
    created: Annotated[int, doc("Number of links that were created", 1)]
    invalid: Annotated[int, doc("Number of entries that were refused", 1)]
    retry: NotRequired[
        Annotated[
            int,
            doc("Number of entries that did not get their turn within 30 seconds. Missing if there are none", None, 1),
        ]
    ]


class CreatedRowsJson(TypedDict):
    data: Annotated[
        list[CreatedRowJson],
        doc(
            "The result", {"errors": {"destination_url": ["This field is required."]}, "index": 1, "status": "invalid"}
        ),
    ]
    meta: Annotated[CreatedMetaJson, doc("Number of entries by status")]


class ChangedRowJson(TypedDict):
    id: Annotated[str, doc("ID", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    status: Annotated[BulkUpdateStatus, doc("Status")]
    errors: NotRequired[Annotated[Errors, doc("Problems of each field")]]


class ChangedMetaJson(TypedDict):
    updated: Annotated[int, doc("Number of links that were changed", 1)]
    unchanged: Annotated[int, doc("Number of links that were like this before", 0)]
    not_found: Annotated[int, doc("Number of ids that are not of a link of the account", 0)]
    invalid: Annotated[int, doc("Number of entries that were refused", 0)]


class ChangedRowsJson(TypedDict):
    data: Annotated[list[ChangedRowJson], doc("The result")]
    meta: Annotated[ChangedMetaJson, doc("Number of entries by status")]


class DeletedRowJson(TypedDict):
    id: Annotated[str, doc("ID", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    status: Annotated[BulkDeleteStatus, doc("Status")]


class DeletedMetaJson(TypedDict):
    deleted: Annotated[int, doc("Number of links that were deleted", 1)]
    not_found: Annotated[int, doc("Number of ids that are not of a link of the account", 0)]


class DeletedRowsJson(TypedDict):
    data: Annotated[list[DeletedRowJson], doc("The result")]
    meta: Annotated[DeletedMetaJson, doc("Number of entries by status")]
