"""The command on QR codes. Imports late, so that --help answers at once."""

from pathlib import Path
from typing import Literal

Level = Literal["L", "M", "Q", "H"]
Style = Literal["squares", "dots", "fluid"]


def qr(
    url: str,
    /,
    *,
    output: Path | None = None,
    level: Level | None = None,
    margin: int | None = None,
    style: Style | None = None,
    size: int | None = None,
    foreground: str | None = None,
    background: str | None = None,
) -> int:
    """Draw the QR code of a URL on the terminal, or into a file.

    Parameters
    ----------
    url
        http:// or https://
    output
        File instead of the terminal; its name ends with .png or .svg.
    level
        Of error correction; L is the smallest code, H bears the most damage. Without it M.
    margin
        Modules of quiet zone on each side, 0 to 10. Without it 4.
    style
        Of the modules in a file. Without it squares.
    size
        Pixels a side of a file, 64 to 2048. Without it 512.
    foreground
        Colour in a file, as #rgb or #rrggbb. Without it black.
    background
        Colour in a file. Without it white.

    """
    from waypost.commands import drawing  # noqa: PLC0415  # see above

    return drawing.draw(
        url, output, level=level, margin=margin, style=style, size=size, foreground=foreground, background=background
    )
