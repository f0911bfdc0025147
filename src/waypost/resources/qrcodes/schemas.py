"""The style that a request may set, and the JSON of a QR code."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field
from typing_extensions import TypedDict

from waypost.kit.clock import timestamp
from waypost.kit.docs import doc, field
from waypost.kit.fields import Body, Color, IdText, TimestampText, UriText
from waypost.resources.qrcodes.model import QrCode
from waypost.resources.qrcodes.style import (
    MAX_MARGIN,
    MAX_SIZE,
    MAX_WIDTH_MM,
    MIN_SIZE,
    MIN_WIDTH_MM,
    CodeStyle,
    ErrorCorrection,
    ModuleStyle,
)

_DIGITS = re.compile(r"[0-9]{1,9}")


class NewStyle(Body):
    """An omitted or null field gets its default."""

    EXAMPLE: ClassVar = {"foreground": "#1d4ed8", "background": "#ffffff", "style": "dots", "level": "Q"}

    foreground: Color | None = field("Color of the code, such as #000 or #000000")
    background: Color | None = field("Background color, such as #fff or #ffffff")
    level: ErrorCorrection | None = field("Error correction, from L (lowest) to H (highest)")
    style: ModuleStyle | None = field("Shape of the modules")
    size: Annotated[int, Field(ge=MIN_SIZE, le=MAX_SIZE)] | None = field(
        "Width and height of the PNG image in pixels", 512
    )
    margin: Annotated[int, Field(ge=0, le=MAX_MARGIN)] | None = field(
        "Empty space around the code, in modules. The standard is 4.", 4
    )
    width_mm: Annotated[int, Field(ge=MIN_WIDTH_MM, le=MAX_WIDTH_MM)] | None = field(
        "Width of the PDF in millimeters", 40
    )

    @property
    def code_style(self) -> CodeStyle:
        return CodeStyle(**self.model_dump(exclude_none=True))


def form_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert numbers, which a form sends as text."""
    return {
        name: int(value)
        if name in {"size", "margin", "width_mm"} and isinstance(value, str) and _DIGITS.fullmatch(value)
        else value
        for name, value in fields.items()
    }


class QrCodeJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-2a77-7f10-b7a4-51c9d20e6f38")]
    link_id: Annotated[IdText, doc("ID of the link", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    foreground: Annotated[str, doc("Color of the code, such as #000 or #000000", "#1d3557")]
    background: Annotated[str, doc("Background color, such as #fff or #ffffff", "#ffffff")]
    level: Annotated[ErrorCorrection, doc("Error correction, from L (lowest) to H (highest)", "Q")]
    style: Annotated[ModuleStyle, doc("Shape of the modules", "dots")]
    size: Annotated[int, doc("Width and height of the PNG image in pixels", 512)]
    margin: Annotated[int, doc("Empty space around the code, in modules. The standard is 4.", 4)]
    width_mm: Annotated[int, doc("Width of the PDF in millimeters", 40)]
    warnings: Annotated[list[str], doc("Why scanners may not read the code", [], ["The colors have little contrast."])]
    scans: Annotated[int, doc("Number of scans of the code", 33)]
    image_url: Annotated[
        UriText,
        doc(
            "Signed URL of the PNG image; use it unchanged",
            "https://go.example.com/api/v1/qrcodes/01a1fbb2-2a77-7f10-b7a4-51c9d20e6f38/image/png?v=1-1d3557-ffffff-Q-dots-512-4&signature=4Jx0bq3Yk1s",
        ),
    ]
    svg_url: Annotated[
        UriText,
        doc(
            "Signed URL of the SVG image; use it unchanged",
            "https://go.example.com/api/v1/qrcodes/01a1fbb2-2a77-7f10-b7a4-51c9d20e6f38/image/svg?v=1-1d3557-ffffff-Q-dots-512-4&signature=4Jx0bq3Yk1s",
        ),
    ]
    pdf_url: Annotated[
        UriText,
        doc(
            "Signed URL of the PDF file, which is drawn in lines and areas for print; use it unchanged",
            "https://go.example.com/api/v1/qrcodes/01a1fbb2-2a77-7f10-b7a4-51c9d20e6f38/image/pdf?v=1-1d3557-ffffff-Q-dots-512-4&signature=4Jx0bq3Yk1s",
        ),
    ]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]
    updated_at: Annotated[TimestampText, doc("Time of the last change", "2026-11-20T02:56:16.123456Z")]


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
        "width_mm": style.width_mm,
        "warnings": warnings,
        "scans": code.scans,
        "image_url": image_urls["image_url"],
        "svg_url": image_urls["svg_url"],
        "pdf_url": image_urls["pdf_url"],
        "created_at": timestamp(code.created_at),
        "updated_at": timestamp(code.updated_at),
    }
