"""`waypost qr`."""

from pathlib import Path
from typing import Literal

LevelOption = Literal["L", "M", "Q", "H"]
StyleOption = Literal["squares", "dots", "fluid"]


def qr(
    url: str,
    /,
    *,
    output: Path | None = None,
    level: LevelOption | None = None,
    margin: int | None = None,
    style: StyleOption | None = None,
    size: int | None = None,
    foreground: str | None = None,
    background: str | None = None,
) -> int:
    """Draw the QR code of a URL on the terminal or to a file.

    Parameters
    ----------
    url
        http:// or https:// URL.
    output
        File instead of the terminal. Its name ends with .png or .svg.
    level
        Error correction. L gives the smallest code, H tolerates the most damage. Default: M.
    margin
        Quiet zone on each side in modules, 0 to 10. Default: 4.
    style
        Style of the modules in a file. Default: squares.
    size
        Width of a file in pixels, 64 to 2048. Default: 512.
    foreground
        Color in a file, as #rgb or #rrggbb. Default: black.
    background
        Color in a file. Default: white.

    """
    from waypost.commands import qr_output

    return qr_output.draw(
        url, output, level=level, margin=margin, style=style, size=size, foreground=foreground, background=background
    )
