"""Warnings about codes that are hard to scan. No I/O."""

from collections.abc import Iterator

from waypost.kit.colors import contrast, luminance
from waypost.resources.qrcodes.layout import Layout
from waypost.resources.qrcodes.style import MIN_MARGIN, CodeStyle

MIN_CONTRAST = 3.0

LIGHT_ON_DARK = (
    "The foreground is lighter than the background. Some readers only find dark codes on a light background."
)
NARROW_MARGIN = (
    f"The margin is smaller than {MIN_MARGIN} modules. On a dark or busy background, scanners may not find the code."
)
LONG_URL = (
    "The short URL is long, so the logo hides a pattern in the middle that some readers look for. Use a shorter slug or"
    " domain, or {}."
)
NO_SPACE_FOR_LOGO = "The short URL is too long for a code with a logo, which is left out."

_MIN_PIXELS = 2.5  # per module; with fewer, readers begin to miss codes
_SHARP_PIXELS = 4  # per module


def warnings(style: CodeStyle, layout: Layout, *, has_logo: bool) -> Iterator[str]:
    """Yield reasons why readers may fail to scan a code, and what differs from its style."""
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
    pixels = style.size / layout.side
    if pixels < _MIN_PIXELS:
        yield (
            f"At {style.size} pixels a module is {_truncate(pixels)} pixels wide, which is hard to read."
            f" A size of {_SHARP_PIXELS * layout.side} or more makes it sharp."
        )
    if layout.hides_alignment:
        smaller = layout.clear_size
        yield LONG_URL.format(f"a logo of the size {smaller}" if smaller else "no logo")
    if style.logo and has_logo and layout.logo_size < style.logo_size:
        yield (
            f"The logo is drawn with a size of {layout.logo_size}: a larger one would hide too much of this code."
            if layout.logo_size
            else NO_SPACE_FOR_LOGO
        )


def _truncate(number: float) -> str:
    """Truncate instead of round: a value below a limit must not look like the limit."""
    return f"{int(number * 10) / 10:.1f}"
