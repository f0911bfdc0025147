"""Colors as `#rrggbb`, and their contrast by WCAG."""

import re

NOT_HEX = "This must be a hex color such as #1a2b3c or #abc. Color names and rgb() are not supported."
NO_HASH = "A hex color starts with #, such as #1a2b3c."
TRANSPARENT = "Transparent colors are not supported. Enter three or six hex digits, such as #1a2b3c."

_COLOR = re.compile(r"#?([0-9a-f]{3}|[0-9a-f]{4}|[0-9a-f]{6}|[0-9a-f]{8})")
_READABLE = 4.5
"""The contrast of text, by WCAG 1.4.3."""
_STEPS = 20


def parse_color(text: str) -> str:
    """Return the color as `#rrggbb` in lower case. Raises ValueError with a message for the user."""
    match = _COLOR.fullmatch(text.lower())
    if match is None:
        raise ValueError(NOT_HEX)
    if not text.startswith("#"):
        raise ValueError(NO_HASH)
    digits = match[1]
    if len(digits) in {4, 8}:
        raise ValueError(TRANSPARENT)
    return f"#{digits}" if len(digits) == 6 else "#" + "".join(2 * digit for digit in digits)


def luminance(color: str) -> float:
    """Return the relative luminance: 0 for black, 1 for white."""
    red, green, blue = (_linear(channel / 255) for channel in _channels(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(color: str, other: str) -> float:
    """Return the contrast ratio, 1 to 21."""
    darker, lighter = sorted((luminance(color), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def readable(color: str, *grounds: str) -> str:
    """Return the color, as much darker or lighter as text of it needs on each of the backgrounds.

    These are all light or all dark.
    """
    end = 0 if luminance(grounds[0]) > 0.5 else 255
    for step in range(_STEPS):
        mixed = [round(channel + (end - channel) * step / _STEPS) for channel in _channels(color)]
        text = "#{:02x}{:02x}{:02x}".format(*mixed)
        if all(contrast(text, ground) >= _READABLE for ground in grounds):
            return text
    return "#000000" if end == 0 else "#ffffff"


def _channels(color: str) -> tuple[int, ...]:
    return tuple(int(color[start : start + 2], 16) for start in (1, 3, 5))


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
