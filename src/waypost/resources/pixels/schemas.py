"""What may be sent for a pixel, by type and length, and how a pixel is shown: without what its platform knows it by."""

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from waypost.kit.clock import timestamp
from waypost.kit.fields import NOT_BLANK, Body, Text, max_characters
from waypost.resources.pixels.events.results import EventResults
from waypost.resources.pixels.model import Pixel, Platform

MAX_TEXT = 255
MAX_TOKEN = 1_000


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("This may hold printable characters only.")
    return text


def _sendable(text: str) -> str | None:
    """Blank reads as null. The others go into a header of HTTP."""
    if not text.strip():
        return None
    if not text.isascii() or " " in text:
        raise ValueError("This may hold only ASCII characters, and no spaces.")
    return text


Line = Annotated[Text, max_characters(MAX_TEXT), NOT_BLANK]
PixelId = Annotated[Line, AfterValidator(_printable)]
Token = Annotated[Text, max_characters(MAX_TOKEN), AfterValidator(_sendable)]


class PixelFields(Body):
    platform: Platform | None = None
    name: Line | None = None
    # not in the repr: whoever logs what was sent shall not log these
    pixel_id: PixelId | None = Field(default=None, repr=False)
    access_token: Token | None = Field(default=None, repr=False)


class NewPixel(PixelFields):
    """Null in a field means the same as leaving it out."""


class PixelChange(PixelFields):
    """`model_fields_set` tells what is to change; null clears the token."""


def shown(pixel: Pixel) -> dict[str, Any]:
    return {
        "id": str(pixel.id),
        "platform": pixel.platform,
        "name": pixel.name,
        "created_at": timestamp(pixel.created_at),
        "updated_at": timestamp(pixel.updated_at),
    }


def shown_results(results: EventResults) -> dict[str, Any]:
    moments = {"sent_at": results.sent_at, "reason_at": results.reason_at}
    return asdict(results) | {name: timestamp(at) if at else None for name, at in moments.items()}
