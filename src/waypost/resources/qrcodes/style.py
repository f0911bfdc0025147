"""The style of a code and the formats of its image."""

from dataclasses import astuple, dataclass
from typing import Literal

ErrorCorrection = Literal["L", "M", "Q", "H"]
"""How much of a code may be damaged: 7, 15, 25 or 30 %."""
ModuleStyle = Literal["squares", "dots", "fluid"]
ImageFormat = Literal["png", "svg"]
MEDIA_TYPES: dict[ImageFormat, str] = {"png": "image/png", "svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class CodeStyle:
    foreground: str = "#000000"
    """As `#rrggbb` in lower case, like the background."""
    background: str = "#ffffff"
    level: ErrorCorrection = "M"
    style: ModuleStyle = "squares"
    size: int = 512
    """Pixels per side, including the margin."""
    margin: int = 4
    """Modules of quiet zone on each side."""


def style_text(style: CodeStyle) -> str:
    """The style as an image URL contains it."""
    return "-".join(str(value).removeprefix("#") for value in astuple(style))


def parse_style(text: str) -> CodeStyle:
    """The inverse of `style_text`."""
    foreground, background, level, style, size, margin = text.split("-")
    return CodeStyle(f"#{foreground}", f"#{background}", level, style, int(size), int(margin))  # type: ignore[arg-type]
