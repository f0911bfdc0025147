"""The logo in a code, and what all formats draw behind it."""

from typing import NamedTuple

from waypost.kit.colors import contrast
from waypost.resources.domains.logos.model import Logo
from waypost.resources.qrcodes.layout import Layout, lay_out
from waypost.resources.qrcodes.style import CodeStyle

_MIN_CONTRAST = 1.6
"""Of a logo and what is behind it."""


class LogoImage(NamedTuple):
    logo: Logo
    content: bytes
    """PNG."""

    def needs_ground(self, style: CodeStyle) -> bool:
        """Whether the logo would be invisible on the background of the code, and is drawn on the foreground color."""
        color = self.logo.color
        return color is not None and contrast(color, style.background) < _MIN_CONTRAST


def lay_out_with(text: str, style: CodeStyle, image: LogoImage | None) -> Layout:
    """Raises TooLong."""
    return lay_out(text, style, (image.logo.width, image.logo.height) if image else None)
