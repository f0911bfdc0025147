"""Request and response fields of pixels. A response has no platform id and no token."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator
from typing_extensions import TypedDict

from waypost.kit.docs import doc, field
from waypost.kit.fields import NOT_BLANK, Body, Documented, IdText, Text, TimestampText, max_characters
from waypost.kit.json_object import json_object
from waypost.resources.pixels.events.model import EventResults
from waypost.resources.pixels.model import Pixel, Platform

MAX_TEXT = 255
MAX_TOKEN = 1_000


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("This must contain only printable characters.")
    return text


def _sendable(text: str) -> str | None:
    """Return the token, or None if it is blank. It is sent in an HTTP header."""
    if not text.strip():
        return None
    if not text.isascii() or " " in text:
        raise ValueError("This must contain only letters, digits and symbols of ASCII, without spaces.")
    return text


Line = Annotated[Text, max_characters(MAX_TEXT), NOT_BLANK]
PixelId = Annotated[
    Line, Documented({"pattern": r"^[^\x00-\x1f\x7f-\xa0]*$", "writeOnly": True}, AfterValidator(_printable))
]
Token = Annotated[
    Text,
    max_characters(MAX_TOKEN),
    Documented({"pattern": r"^[\x21-\x7e]*$", "writeOnly": True}, AfterValidator(_sendable)),
]


class PixelFields(Body):
    platform: Platform | None = field("Advertising platform")
    name: Line | None = field("Name")
    # not in the repr, so that they are not logged with the request
    pixel_id: PixelId | None = field("ID of the pixel on its platform. It is never returned.", "1234567890", repr=False)
    access_token: Token | None = field(
        "Access token of the platform, for events sent from the server. It is never returned.",
        "EAABsbCS1iHgBAKZCZCf2",
        repr=False,
    )


class NewPixel(PixelFields):
    """Null in a field means the same as leaving it out."""

    REQUIRED = ("platform", "name", "pixel_id")
    EXAMPLE: ClassVar = {"platform": "facebook", "name": "Shop", "pixel_id": "1234567890"}


class PixelChange(PixelFields):
    """Changes the fields that were sent; null clears the token."""

    NOT_NULL = ("platform", "name", "pixel_id")
    EXAMPLE: ClassVar = {"name": "Shop in Europe"}


class PixelJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-5e07-7c7a-9d1b-6b0b7a3c9e10")]
    platform: Annotated[Platform, doc("Advertising platform")]
    name: Annotated[str, doc("Name", "Spring audience")]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]
    updated_at: Annotated[TimestampText, doc("Time of the last change", "2026-11-20T02:56:16.123456Z")]


class PixelResultsJson(TypedDict):
    sent: Annotated[int, doc("Events that the platform accepted", 1204)]
    rejected: Annotated[int, doc("Events that the platform rejected", 1)]
    dropped: Annotated[int, doc("Events that were not sent: too old, too many, incomplete, or tried too often", 0)]
    sent_at: Annotated[TimestampText | None, doc("Time of the last accepted event", "2026-11-23T09:14:07.120944Z")]
    reason: Annotated[
        str | None, doc("Why the last event that was not accepted was rejected or dropped", "400: Invalid parameter")
    ]
    reason_at: Annotated[TimestampText | None, doc("Time of `reason`", "2026-11-21T17:40:12.501837Z")]


def to_json(pixel: Pixel) -> PixelJson:
    return json_object(PixelJson, pixel)


def results_to_json(results: EventResults) -> PixelResultsJson:
    return json_object(PixelResultsJson, results)
