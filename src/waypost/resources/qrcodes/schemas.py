"""The style that a request may set, and the JSON of a QR code."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from waypost.kit.docs import doc, doc_as, field
from waypost.kit.errors import Problems
from waypost.kit.fields import NOT_BLANK, Body, Color, IdText, Text, TimestampText, UriText, max_characters, parse
from waypost.kit.json_object import json_object
from waypost.resources.qrcodes.model import QrCode
from waypost.resources.qrcodes.style import (
    MAX_FRAME_TEXT,
    MAX_LOGO_SIZE,
    MAX_MARGIN,
    MAX_SIZE,
    MAX_WIDTH_MM,
    MIN_LOGO_SIZE,
    MIN_SIZE,
    MIN_WIDTH_MM,
    CodeStyle,
    ErrorCorrection,
    FrameStyle,
    ImageFormat,
    ModuleStyle,
)

_NUMBER = re.compile(r"[0-9]{1,9}|([0-9]{0,9}[.][0-9]{1,9})")
_FLAGS = {"true": True, "on": True, "false": False}


def _drawable(text: str) -> str:
    from waypost.resources.qrcodes.drawing.letters import find_unknown  # noqa: PLC0415  # read for frames only

    text = unicodedata.normalize("NFC", text).strip()
    if unknown := find_unknown(text):
        raise ValueError(
            f"The font has no {' '.join(unknown[:5])}. Use Latin, Greek or Cyrillic letters, digits and punctuation."
        )
    return text


FrameText = Annotated[Text, max_characters(MAX_FRAME_TEXT), NOT_BLANK, AfterValidator(_drawable)]


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
    logo: bool | None = field("Whether to show the logo of the domain, or else of the account", False)
    logo_size: Annotated[float, Field(ge=MIN_LOGO_SIZE, le=MAX_LOGO_SIZE)] | None = field(
        "Longer side of the logo, as a fraction of the code's width", 0.22
    )
    frame: FrameStyle | None = field("Frame around the code: none, or with text at the bottom", "none")
    frame_text: FrameText | None = field("Text of the frame", "SCAN ME")

    @property
    def code_style(self) -> CodeStyle:
        return CodeStyle(**self.model_dump(exclude_none=True))


def read_form(fields: Mapping[str, Any]) -> tuple[NewStyle, Problems]:
    """Read the style in the fields of a form."""
    return parse(NewStyle, form_fields(fields))


def form_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert numbers and flags, which a form sends as text."""
    return {name: _from_text(name, value) if isinstance(value, str) else value for name, value in fields.items()}


def _from_text(name: str, value: str) -> Any:
    if name == "logo":
        return _FLAGS.get(value.lower(), value)
    number = _NUMBER.fullmatch(value) if name in {"size", "margin", "width_mm", "logo_size"} else None
    return value if number is None else float(value) if number[1] else int(value)


def _url(image_format: ImageFormat, what: str) -> Any:
    path = f"/api/v1/qrcodes/01a1fbb2-2a77-7f10-b7a4-51c9d20e6f38/image/{image_format}"
    example = f"https://go.example.com{path}?v=1d3557-ffffff-Q-dots-512-4&signature=4Jx0bq3Yk1s"
    return doc(f"Signed URL of the {what}; use it unchanged", example)


class QrCodeJson(TypedDict):
    id: Annotated[IdText, doc("ID", "01a1fbb2-2a77-7f10-b7a4-51c9d20e6f38")]
    link_id: Annotated[IdText, doc("ID of the link", "01a1fbb2-2855-72ee-8e77-c161c4205e89")]
    foreground: Annotated[str, doc_as(NewStyle, "foreground", "#1d3557")]
    background: Annotated[str, doc_as(NewStyle, "background", "#ffffff")]
    level: Annotated[ErrorCorrection, doc("Error correction of the image, which a logo raises as needed", "Q")]
    style: Annotated[ModuleStyle, doc_as(NewStyle, "style", "dots")]
    size: Annotated[int, doc_as(NewStyle, "size")]
    margin: Annotated[int, doc_as(NewStyle, "margin")]
    width_mm: Annotated[int, doc_as(NewStyle, "width_mm")]
    logo: Annotated[bool, doc_as(NewStyle, "logo")]
    logo_size: Annotated[float, doc_as(NewStyle, "logo_size")]
    frame: Annotated[FrameStyle, doc_as(NewStyle, "frame")]
    frame_text: Annotated[str, doc_as(NewStyle, "frame_text")]
    warnings: Annotated[list[str], doc("Why scanners may not read the code", [], ["The colors have little contrast."])]
    scans: Annotated[int, doc("Number of scans of the code", 33)]
    image_url: Annotated[UriText, _url("png", "PNG image")]
    svg_url: Annotated[UriText, _url("svg", "SVG image")]
    pdf_url: Annotated[UriText, _url("pdf", "PDF file, which is drawn in lines and areas for print")]
    created_at: Annotated[TimestampText, doc("Time of creation", "2026-11-20T02:56:16.123456Z")]
    updated_at: Annotated[TimestampText, doc("Time of the last change", "2026-11-20T02:56:16.123456Z")]


def to_json(code: QrCode, level: ErrorCorrection, warnings: list[str], image_urls: Mapping[str, str]) -> QrCodeJson:
    style = {**asdict(code.style), "level": level}
    return json_object(QrCodeJson, code, **style, **image_urls, warnings=warnings)
