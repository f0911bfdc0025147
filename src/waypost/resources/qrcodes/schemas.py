"""The style that a request may set, and the JSON of a QR code."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.fields import Body, Documented, IdText, Text, TimestampText, UriText
from waypost.resources.qrcodes.model import QrCode
from waypost.resources.qrcodes.style import (
    MAX_MARGIN,
    MAX_SIZE,
    MIN_SIZE,
    CodeStyle,
    ErrorCorrection,
    ModuleStyle,
    parse_color,
)

Color = Annotated[Text, Documented({"pattern": "^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"}, AfterValidator(parse_color))]
_DIGITS = re.compile(r"[0-9]{1,9}")


class NewStyle(Body):
    """An omitted or null field gets its default."""

    EXAMPLE: ClassVar = {"foreground": "#1d4ed8", "background": "#ffffff", "style": "dots", "level": "Q"}

    foreground: Color | None = None
    background: Color | None = None
    level: ErrorCorrection | None = None
    style: ModuleStyle | None = None
    size: Annotated[int, Field(ge=MIN_SIZE, le=MAX_SIZE)] | None = None
    margin: Annotated[int, Field(ge=0, le=MAX_MARGIN)] | None = None

    @property
    def code_style(self) -> CodeStyle:
        return CodeStyle(**self.model_dump(exclude_none=True))


def form_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert numbers, which a form sends as text."""
    return {
        name: int(value)
        if name in {"size", "margin"} and isinstance(value, str) and _DIGITS.fullmatch(value)
        else value
        for name, value in fields.items()
    }


class QrCodeJson(TypedDict):
    id: IdText
    link_id: IdText
    foreground: str
    background: str
    level: ErrorCorrection
    style: ModuleStyle
    size: int
    margin: int
    warnings: list[str]
    scans: int
    image_url: UriText
    svg_url: UriText
    created_at: TimestampText
    updated_at: TimestampText


def to_json(code: QrCode, warnings: list[str], image_urls: Mapping[str, str]) -> QrCodeJson:
    style = code.style
    return {
        "id": str(code.id),
        "link_id": str(code.link_id),
        "foreground": style.foreground,
        "background": style.background,
        "level": style.level,
        "style": style.style,
        "size": style.size,
        "margin": style.margin,
        "warnings": warnings,
        "scans": code.scans,
        "image_url": image_urls["image_url"],
        "svg_url": image_urls["svg_url"],
        "created_at": timestamp(code.created_at),
        "updated_at": timestamp(code.updated_at),
    }
