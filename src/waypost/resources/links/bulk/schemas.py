"""Bodies and answers of requests that create, change or delete many links."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NotRequired

from pydantic import BeforeValidator, ConfigDict
from typing_extensions import TypedDict

from waypost.kit.errors import Problems
from waypost.kit.fields import Body, Documented, Text, Timestamp, max_entries, parse
from waypost.resources.links.model import LinkStatus
from waypost.resources.links.schemas import HostnameText, LinkChange, LinkJson, NewLink, PixelIds, TagList

MAX_ROWS = 100

_TAGS_TWICE = "Send either tags, or add_tags and remove_tags."
_ADDED_AND_REMOVED = "This tag is in add_tags, too. Send it in one of the two."


def _not_empty(value: Any) -> Any:
    if value == []:
        raise ValueError("This must have at least 1 entry.")
    return value


_ROWS = Documented({"minItems": 1}, BeforeValidator(_not_empty))
_IDS = Documented({"items": {"type": "string", "format": "uuid"}})
Ids = Annotated[list[Text], _IDS, max_entries(MAX_ROWS), _ROWS]


class LinkSet(Body):
    """What to change in each of many links."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    NOT_NULL = ("status", "add_tags", "remove_tags")

    status: LinkStatus | None = None
    expires_at: Timestamp | None = None
    hostname: HostnameText | None = None
    pixel_ids: PixelIds | None = None
    tags: TagList | None = None
    add_tags: TagList | None = None
    remove_tags: TagList | None = None

    def to_change(self) -> LinkChange:
        """Return the part that is the same for all links."""
        sent = self.model_fields_set & LinkChange.model_fields.keys()
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

    links: Annotated[list[Any], max_entries(MAX_ROWS), _ROWS] | None = None


class LinkChanges(Body):
    """`set` is parsed apart."""

    REQUIRED = ("ids", "set")
    NESTED: ClassVar = {"set": LinkSet}
    EXAMPLE: ClassVar = {
        "ids": ["01a1fbb2-2855-72ee-8e77-c161c4205e89"],
        "set": {"add_tags": ["sale"], "expires_at": "2030-01-31T12:00:00Z"},
    }

    ids: Ids | None = None
    set: dict[str, Any] | None = None


class LinkIds(Body):
    REQUIRED = ("ids",)
    EXAMPLE: ClassVar = {"ids": ["01a1fbb2-2855-72ee-8e77-c161c4205e89"]}

    ids: Ids | None = None


Errors = dict[str, list[str]]
BulkCreateStatus = Literal["created", "invalid", "retry"]
BulkUpdateStatus = Literal["updated", "unchanged", "not_found", "invalid"]
BulkDeleteStatus = Literal["deleted", "not_found"]


class CreatedRowJson(TypedDict):
    index: int
    status: BulkCreateStatus
    link: NotRequired[LinkJson]
    errors: NotRequired[Errors]


class CreatedMetaJson(TypedDict):
    created: int
    invalid: int
    retry: NotRequired[int]


class CreatedRowsJson(TypedDict):
    data: list[CreatedRowJson]
    meta: CreatedMetaJson


class ChangedRowJson(TypedDict):
    id: str
    status: BulkUpdateStatus
    errors: NotRequired[Errors]


class ChangedMetaJson(TypedDict):
    updated: int
    unchanged: int
    not_found: int
    invalid: int


class ChangedRowsJson(TypedDict):
    data: list[ChangedRowJson]
    meta: ChangedMetaJson


class DeletedRowJson(TypedDict):
    id: str
    status: BulkDeleteStatus


class DeletedMetaJson(TypedDict):
    deleted: int
    not_found: int


class DeletedRowsJson(TypedDict):
    data: list[DeletedRowJson]
    meta: DeletedMetaJson
