"""The body of an upload, and the JSON of a logo."""

from collections.abc import Collection
from typing import Annotated, ClassVar

from pydantic import InstanceOf
from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.docs import doc, field
from waypost.kit.fields import Body, TimestampText, Upload, UriText
from waypost.resources.domains.logos.model import Logo

LOGO_PATH = "/media/logos"


class LogoFields(Body):
    REQUIRED: ClassVar[Collection[str]] = ("file",)

    file: InstanceOf[Upload] | None = field("PNG, JPEG or WebP image of at most 2 MB", "logo.png")


class LogoJson(TypedDict):
    width: Annotated[int, doc("Width in pixels, after cropping to the content", 512)]
    height: Annotated[int, doc("Height in pixels, after cropping to the content", 380)]
    url: Annotated[
        UriText,
        doc("URL of the PNG image, a new one after each upload", "https://go.example.com/media/logos/5f1c2a.png"),
    ]
    updated_at: Annotated[TimestampText, doc("Time of the upload", "2026-11-20T02:56:16.123456Z")]


def to_json(logo: Logo, base_url: str) -> LogoJson:
    return {
        "width": logo.width,
        "height": logo.height,
        "url": f"{base_url}{LOGO_PATH}/{logo.name}",
        "updated_at": timestamp(logo.updated_at),
    }
