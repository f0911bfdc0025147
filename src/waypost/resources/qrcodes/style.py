"""The style of a code and the formats of its image. No I/O."""

from dataclasses import astuple, dataclass
from typing import Any, Literal
from urllib.parse import quote, unquote

ErrorCorrection = Literal["L", "M", "Q", "H"]
"""How much of a code may be damaged: 7, 15, 25 or 30 %."""
ModuleStyle = Literal["squares", "dots", "fluid"]
ImageFormat = Literal["png", "svg", "pdf"]
FrameStyle = Literal["none", "bottom"]
MEDIA_TYPES: dict[ImageFormat, str] = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
SAFE_HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}
"""Of a response with an image: a browser displays it and runs nothing in it."""

MIN_SIZE, MAX_SIZE = 64, 2048
MAX_MARGIN = 10
MIN_WIDTH_MM, MAX_WIDTH_MM = 10, 300
MIN_MARGIN = 4  # of the standard
MIN_LOGO_SIZE, MAX_LOGO_SIZE = 0.1, 0.3
MAX_FRAME_TEXT = 30


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
    width_mm: int = 40
    """Of the PDF, including the margin."""
    logo: bool = False
    """Whether the logo of the domain or account is drawn."""
    logo_size: float = 0.22
    """The longer side of the logo, as a fraction of the code's width."""
    frame: FrameStyle = "none"
    frame_text: str = "SCAN ME"


LATER_FIELDS = ("width_mm", "logo", "logo_size", "frame", "frame_text")
"""What image URLs and archives of earlier versions do not have. Add fields at the end."""
_DEFAULTS = astuple(CodeStyle())


def style_text(style: CodeStyle) -> str:
    """Return the style as text for an image URL, which is that of earlier versions if the style is one of theirs."""
    values = list(astuple(style))
    while len(values) > len(_DEFAULTS) - len(LATER_FIELDS) and values[-1] == _DEFAULTS[len(values) - 1]:
        values.pop()
    foreground, background, *others = values
    return "-".join([foreground[1:], background[1:], *(quote(str(value), safe="") for value in others)])


def parse_style(text: str) -> CodeStyle:
    """Parse the text of `style_text`."""
    texts = text.split("-", len(_DEFAULTS) - 1)
    foreground, background, *others = map(_from_text, texts, _DEFAULTS)
    return CodeStyle(f"#{foreground}", f"#{background}", *others)


def _from_text(text: str, default: Any) -> Any:
    if isinstance(default, bool):
        return text == "True"
    return unquote(text) if isinstance(default, str) else type(default)(text)
