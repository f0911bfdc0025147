"""Request and response fields of pixels. A response has no platform id and no token."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.fields import NOT_BLANK, Body, Documented, IdText, Text, TimestampText, max_characters
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
    platform: Platform | None = None
    name: Line | None = None
    # not in the repr, so that they are not logged with the request
    pixel_id: PixelId | None = Field(default=None, repr=False)
    access_token: Token | None = Field(default=None, repr=False)


class NewPixel(PixelFields):
    """Null in a field means the same as leaving it out."""

    REQUIRED = ("platform", "name", "pixel_id")
    EXAMPLE: ClassVar = {"platform": "facebook", "name": "Shop", "pixel_id": "1234567890"}


class PixelChange(PixelFields):
    """Changes the fields that were sent; null clears the token."""

    NOT_NULL = ("platform", "name", "pixel_id")
    EXAMPLE: ClassVar = {"name": "Shop in Europe"}


class PixelJson(TypedDict):
    id: IdText
    platform: Platform
    name: str
    created_at: TimestampText
    updated_at: TimestampText


class PixelResultsJson(TypedDict):
    sent: int
    rejected: int
    dropped: int
    sent_at: TimestampText | None
    reason: str | None
    reason_at: TimestampText | None


def to_json(pixel: Pixel) -> PixelJson:
    return {
        "id": str(pixel.id),
        "platform": pixel.platform,
        "name": pixel.name,
        "created_at": timestamp(pixel.created_at),
        "updated_at": timestamp(pixel.updated_at),
    }


def results_to_json(results: EventResults) -> PixelResultsJson:
    return {
        "sent": results.sent,
        "rejected": results.rejected,
        "dropped": results.dropped,
        "sent_at": timestamp(results.sent_at) if results.sent_at else None,
        "reason": results.reason,
        "reason_at": timestamp(results.reason_at) if results.reason_at else None,
    }
