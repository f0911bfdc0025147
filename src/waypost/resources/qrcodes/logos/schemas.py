"""The body of an upload, and the JSON of a logo."""

from collections.abc import Collection
from typing import Annotated, ClassVar, Literal

from pydantic import Field, InstanceOf
from typing_extensions import TypedDict

from waypost.kit.docs import doc, field
from waypost.kit.fields import Body, TimestampText, Upload, UriText
from waypost.kit.json_object import json_object
from waypost.resources.domains.logos.model import Logo

LOGO_PATH = "/media/logos"


class LogoFields(Body):
    REQUIRED: ClassVar[Collection[str]] = ("file",)

    file: InstanceOf[Upload] | None = field("PNG, JPEG or WebP image of at most 2 MB", "logo.png")


Percent = Annotated[int, Field(ge=0, le=99, strict=False)]


class LogoCrop(Body):
    """What the dashboard's form uses of an image: first the edges are cut off."""

    crop: Literal["content", "square", "whole"] | None = field("Without empty space, a square in the middle, or all")
    cut_left: Percent | None = field("Percent of the width to cut off")
    cut_top: Percent | None = field("Percent of the height to cut off")
    cut_right: Percent | None = field("Percent of the width to cut off")
    cut_bottom: Percent | None = field("Percent of the height to cut off")

    def box(self, width: int, height: int) -> tuple[int, int, int, int]:
        """Return left, top, right and bottom of what is left. If nothing is, they are in the wrong order."""
        left, right = width * (self.cut_left or 0) // 100, width - width * (self.cut_right or 0) // 100
        top, bottom = height * (self.cut_top or 0) // 100, height - height * (self.cut_bottom or 0) // 100
        if self.crop == "square":
            side = min(right - left, bottom - top)
            left, top = (left + right - side) // 2, (top + bottom - side) // 2
            right, bottom = left + side, top + side
        return left, top, right, bottom


AUTOMATIC = LogoCrop()


class LogoJson(TypedDict):
    width: Annotated[int, doc("Width in pixels, after cropping to the content", 512)]
    height: Annotated[int, doc("Height in pixels, after cropping to the content", 380)]
    url: Annotated[
        UriText,
        doc("URL of the PNG image, a new one after each upload", "https://go.example.com/media/logos/5f1c2a.png"),
    ]
    updated_at: Annotated[TimestampText, doc("Time of the upload", "2026-11-20T02:56:16.123456Z")]


def to_json(logo: Logo, base_url: str) -> LogoJson:
    return json_object(LogoJson, logo, url=f"{base_url}{LOGO_PATH}/{logo.name}")
