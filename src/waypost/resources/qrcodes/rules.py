"""What may be a colour, what a code encodes, and what may keep it from being read. Pure: asks no database."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from segno import consts

from waypost.resources.qrcodes.model import CodeTarget
from waypost.resources.qrcodes.style import CodeStyle, ErrorCorrection

MIN_SIZE, MAX_SIZE = 64, 2048
MAX_MARGIN = 10
LOWEST_CONTRAST = 3.0

NOT_HEX = "This must be a hex colour such as #1a2b3c or #abc; names and rgb() are not taken."
NO_HASH = "A hex colour begins with #, as in #1a2b3c."
TRANSPARENT = "A code has no transparent colours: write three or six hex digits, as in #1a2b3c."
LIGHT_ON_DARK = "The foreground is lighter than the background. Some readers find only dark codes on a light ground."

_COLOUR = re.compile(r"#?([0-9a-f]{3}|[0-9a-f]{4}|[0-9a-f]{6}|[0-9a-f]{8})")
_ERRORS: dict[ErrorCorrection, int] = {
    "L": consts.ERROR_LEVEL_L,
    "M": consts.ERROR_LEVEL_M,
    "Q": consts.ERROR_LEVEL_Q,
    "H": consts.ERROR_LEVEL_H,
}
_CAPACITY: Mapping[int, Any] = consts.SYMBOL_CAPACITY  # bits, by version and level
_LONG_FROM = 10  # the version from which a text's length takes two bytes
_LEAST = 2.5  # pixels of a module: with fewer, readers begin to miss codes
_SURE = 4  # pixels of a module that are drawn sharp


def colour(text: str) -> str:
    """As `#rrggbb` in lower case. Raises ValueError with the message for whoever sent it."""
    found = _COLOUR.fullmatch(text.lower())
    if found is None:
        raise ValueError(NOT_HEX)
    if not text.startswith("#"):
        raise ValueError(NO_HASH)
    digits = found[1]
    if len(digits) in {4, 8}:
        raise ValueError(TRANSPARENT)
    return f"#{digits}" if len(digits) == 6 else "#" + "".join(2 * digit for digit in digits)


def encoded(target: CodeTarget, *, shared_domain: str, scheme: str) -> str:
    """What a reader of the code opens. The longest host and the longest slug fit into a code of every level."""
    return f"{scheme}://{target.hostname or shared_domain}/{target.slug}?r=qr"


def warnings(style: CodeStyle, text: str) -> Iterator[str]:
    """What may keep a code of `text` from being read."""
    code, ground = _luminance(style.foreground), _luminance(style.background)
    contrast = (max(code, ground) + 0.05) / (min(code, ground) + 0.05)
    if contrast < LOWEST_CONTRAST:
        yield (
            f"The colours have a contrast of {_cut(contrast)}:1, and readers need {LOWEST_CONTRAST:.0f}:1 or more."
            " Make the foreground darker or the background lighter."
        )
    if code > ground:
        yield LIGHT_ON_DARK
    modules = modules_of(text, style.level) + 2 * style.margin
    if style.size < _LEAST * modules:
        yield (
            f"At {style.size} pixels a module is {_cut(style.size / modules)} pixels wide, which is hard to read."
            f" A size of {_SURE * modules} or more makes it sharp."
        )


def modules_of(text: str, level: ErrorCorrection) -> int:
    """A side of the code, without its margin; counted instead of drawn, in ASCII that only bytes can hold."""
    versions = range(1, 41)
    version = next(each for each in versions if _bits(text, each) <= _CAPACITY[each][_ERRORS[level]])
    return 17 + 4 * version


def _bits(text: str, version: int) -> int:
    """Its mode, its length, and itself."""
    return 4 + (8 if version < _LONG_FROM else 16) + 8 * len(text)


def _luminance(colour: str) -> float:
    """WCAG's relative one: 0 for black, 1 for white."""
    red, green, blue = (_linear(int(colour[place : place + 2], 16) / 255) for place in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _cut(number: float) -> str:
    """Cut, not rounded: what is below a bound shall not read like the bound."""
    return f"{int(number * 10) / 10:.1f}"
