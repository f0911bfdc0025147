"""The fields of a tag, and its JSON."""

from typing import Annotated, ClassVar

from typing_extensions import TypedDict

from waypost.kit.docs import doc, doc_as, field
from waypost.kit.fields import Body, IdText, TimestampText
from waypost.kit.json_object import json_object
from waypost.resources.links.schemas import TagName
from waypost.resources.links.tags.model import Tag, TagColor


class TagFields(Body):
    EXAMPLE: ClassVar = {"name": "spring", "color": "green"}

    name: TagName | None = field("Name; upper and lower case differ", "spring")
    color: TagColor | None = field("Color of the tag in the dashboard", "green")


class NewTag(TagFields):
    """Null in a field means the same as leaving it out."""

    REQUIRED = ("name",)


class TagChange(TagFields):
    """Changes the fields that were sent."""

    NOT_NULL = ("name", "color")


class TagJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-5e07-7c7a-9d1b-6b0b7a3c9e30")]
    name: Annotated[str, doc_as(TagFields, "name")]
    color: Annotated[TagColor, doc_as(TagFields, "color")]
    links_count: Annotated[int, doc("Number of links that have the tag", 14)]
    clicks: Annotated[
        int, doc("Sum of the clicks of these links; some minutes old on a page of tags with very many links", 812)
    ]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]
    updated_at: Annotated[TimestampText, doc("Time of the last change", "2026-11-20T02:56:16.123456Z")]


def to_json(tag: Tag) -> TagJson:
    return json_object(TagJson, tag, links_count=max(0, tag.links_count))
