"""The bodies of requests for many codes in one file."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator

from waypost.kit.docs import field
from waypost.kit.fields import NOT_BLANK, Body, Text, max_characters, max_entries
from waypost.resources.links.bulk.schemas import ID_FORMAT, NOT_EMPTY
from waypost.resources.qrcodes.file_names import check_pattern
from waypost.resources.qrcodes.style import ImageFormat

MAX_CODES = 1_000
"""In one file."""


class CodeSelection(Body):
    """Which codes are put into one file."""

    ids: Annotated[list[Text], ID_FORMAT, max_entries(MAX_CODES), NOT_EMPTY] | None = field(
        "IDs of links, 1 to 1,000. Send one of `ids`, `tag` and `hostname`", ["01a1fbb2-2855-72ee-8e77-c161c4205e89"]
    )
    tag: Text | None = field("All links that have the tag", "sale")
    hostname: Text | None = field("All links on the domain", "go.brand.com")


class NewArchive(CodeSelection):
    EXAMPLE: ClassVar = {"tag": "sale", "format": "svg", "name": "{title}"}

    format: ImageFormat | None = field("Format of the images", "png")
    name: Annotated[Text, max_characters(255), NOT_BLANK, AfterValidator(check_pattern)] | None = field(
        "Names of the files without their ending: text with `{slug}`, `{title}`, `{hostname}` and `{id}`", "{slug}"
    )
