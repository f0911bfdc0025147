"""The style of a code and the formats of its image; warnings about styles that are hard to scan. No I/O."""

from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any, Literal

from waypost.kit.colors import contrast, luminance

ErrorCorrection = Literal["L", "M", "Q", "H"]
"""How much of a code may be damaged: 7, 15, 25 or 30 %."""
ModuleStyle = Literal["squares", "dots", "fluid"]
ImageFormat = Literal["png", "svg", "pdf"]
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
MIN_CONTRAST = 3.0

LIGHT_ON_DARK = (
    "The foreground is lighter than the background. Some readers only find dark codes on a light background."
)
NARROW_MARGIN = (
    f"The margin is smaller than {MIN_MARGIN} modules. On a dark or busy background, scanners may not find the code."
)

_LONG_FROM = 10  # from this version on, a text's length takes two bytes
_MIN_PIXELS = 2.5  # per module; with fewer, readers begin to miss codes
_SHARP_PIXELS = 4  # per module


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


LATER_FIELDS = ("width_mm",)
"""What image URLs and archives of earlier versions do not have. Add fields at the end."""
_DEFAULTS = astuple(CodeStyle())


def style_text(style: CodeStyle) -> str:
    """Return the style as text for an image URL, which is that of earlier versions if the style is one of theirs."""
    values = list(astuple(style))
    while len(values) > len(_DEFAULTS) - len(LATER_FIELDS) and values[-1] == _DEFAULTS[len(values) - 1]:
        values.pop()
    return "-".join(str(value).removeprefix("#") for value in values)


def parse_style(text: str) -> CodeStyle:
    """Parse the text of `style_text`."""
    foreground, background, level, style, *numbers = text.split("-")
    return CodeStyle(f"#{foreground}", f"#{background}", level, style, *map(int, numbers))  # type: ignore[arg-type]


def warnings(style: CodeStyle, text: str) -> Iterator[str]:
    """Yield reasons why readers may fail to scan a code of `text`."""
    ratio = contrast(style.foreground, style.background)
    if ratio < MIN_CONTRAST:
        yield (
            f"The colors have a contrast of {_truncate(ratio)}:1; readers need at least {MIN_CONTRAST:.0f}:1."
            " Make the foreground darker or the background lighter."
        )
    if luminance(style.foreground) > luminance(style.background):
        yield LIGHT_ON_DARK
    if style.margin < MIN_MARGIN:
        yield NARROW_MARGIN
    modules = count_modules(text, style.level) + 2 * style.margin
    if style.size < _MIN_PIXELS * modules:
        yield (
            f"At {style.size} pixels a module is {_truncate(style.size / modules)} pixels wide, which is hard to read."
            f" A size of {_SHARP_PIXELS * modules} or more makes it sharp."
        )


def count_modules(text: str, level: ErrorCorrection) -> int:
    """Compute the modules per side, without the margin. For ASCII text that needs the byte mode."""
    from segno import consts  # noqa: PLC0415  # 1 MB, which the worker and an idle process do without

    capacity: Mapping[int, Any] = consts.SYMBOL_CAPACITY  # bits, by version and level
    versions = range(1, 41)
    version = next(
        number for number in versions if _bits(text, number) <= capacity[number][consts.ERROR_MAPPING[level]]
    )
    return 17 + 4 * version


def _bits(text: str, version: int) -> int:
    """Count the bits of mode, length and text."""
    return 4 + (8 if version < _LONG_FROM else 16) + 8 * len(text)


def _truncate(number: float) -> str:
    """Truncate instead of round: a value below a limit must not look like the limit."""
    return f"{int(number * 10) / 10:.1f}"
