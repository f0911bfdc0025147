"""Draws a code as PNG: tiles on full pixels, in sixteen shades from background to foreground.

Some modules are a pixel wider than others if the size requires it, so straight edges stay sharp. A code with less than
four pixels per module is drawn larger and scaled down, which preserves the proportions.
"""

import io
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from PIL import Image, ImageColor, ImageDraw

from waypost.resources.qrcodes.drawing.matrix import Matrix, Module, make_matrix
from waypost.resources.qrcodes.style import CodeStyle

_SHADES = 16
_SHARP_FROM = 4  # pixels per module
_SHRUNK_FROM = 8
_OVERSAMPLING = 8  # of a tile, for smooth edges
_INSET = 20  # a dot leaves 1/20 of its module empty on each side
_COMPRESSION = 6  # 9 takes ten times as long, for a tenth less

Tile = Sequence[bytes]
"""Rows of pixels; 255 is dark."""
Corners = tuple[bool, bool, bool, bool]
"""Whether the top left, top right, bottom right and bottom left are round."""

_SQUARE: Corners = (False, False, False, False)


def png(text: str, style: CodeStyle) -> bytes:
    """Draw a PNG. Raises TooLong."""
    matrix = make_matrix(text, style.level)
    modules = matrix.size + 2 * style.margin
    is_sharp = style.size >= _SHARP_FROM * modules
    side = style.size if is_sharp else _SHRUNK_FROM * modules
    image = Image.frombytes("L", (side, side), b"".join(_lines(matrix, side, style)))
    if not is_sharp:
        image = image.resize((style.size, style.size), Image.Resampling.BOX)
    return _encode(image, style)


def _lines(matrix: Matrix, side: int, style: CodeStyle) -> Iterator[bytes]:
    """Yield the `side` rows of pixels."""
    modules, margin = matrix.size + 2 * style.margin, style.margin
    edges = [(2 * index * side + modules) // (2 * modules) for index in range(modules + 1)]
    sizes = [end - start for start, end in pairwise(edges)]
    inner = sizes[margin : margin + matrix.size]
    dark = frozenset(matrix.dark)
    blank = bytes(edges[margin])
    yield bytes(edges[margin] * side)
    for y, height in enumerate(inner):
        tiles = [_tile(width, height, _shape(matrix, dark, (x, y), style)) for x, width in enumerate(inner)]
        for parts in zip(*tiles, strict=True):
            line = blank + b"".join(parts)
            yield line + bytes(side - len(line))
    yield bytes((side - edges[margin + matrix.size]) * side)


def _shape(matrix: Matrix, dark: Collection[Module], module: Module, style: CodeStyle) -> Corners | str:
    x, y = module
    if module not in dark:
        return "blank"
    if style.style == "dots" and not matrix.is_eye(x, y):
        return "dot"
    if style.style != "fluid":
        return _SQUARE
    above, right, below, left = (x, y - 1) in dark, (x + 1, y) in dark, (x, y + 1) in dark, (x - 1, y) in dark
    return (not (above or left), not (above or right), not (below or right), not (below or left))


@lru_cache(1_024)
def _tile(width: int, height: int, shape: Corners | str) -> Tile:
    image = Image.new("L", (_OVERSAMPLING * width, _OVERSAMPLING * height))
    pen, right, bottom = ImageDraw.Draw(image), image.width - 1, image.height - 1
    if shape == "dot":
        inset_x, inset_y = right / _INSET, bottom / _INSET
        pen.ellipse((inset_x, inset_y, right - inset_x, bottom - inset_y), fill=255)
    elif not isinstance(shape, str):
        _draw_rounded(pen, right, bottom, shape)
    pixels = image.reduce(_OVERSAMPLING).tobytes()
    return [pixels[start : start + width] for start in range(0, width * height, width)]


def _draw_rounded(pen: ImageDraw.ImageDraw, right: int, bottom: int, corners: Corners) -> None:
    """Draw an ellipse and fill the quarters that are not round."""
    middle_x, middle_y = right // 2, bottom // 2
    quarters = (
        (0, 0, middle_x, middle_y),
        (middle_x, 0, right, middle_y),
        (middle_x, middle_y, right, bottom),
        (0, middle_y, middle_x, bottom),
    )
    pen.ellipse((0, 0, right, bottom), fill=255)
    for quarter, is_round in zip(quarters, corners, strict=True):
        if not is_round:
            pen.rectangle(quarter, fill=255)


def _encode(image: Image.Image, style: CodeStyle) -> bytes:
    """Encode the image, with one bit per pixel if all edges are sharp."""
    is_sharp = len(image.getcolors() or ()) <= 2
    steps = 1 if is_sharp else _SHADES - 1
    background, foreground = ImageColor.getrgb(style.background), ImageColor.getrgb(style.foreground)
    channels = list(zip(background, foreground, strict=True))
    shades = [(a + (b - a) * step / steps) for step in range(steps + 1) for a, b in channels]
    image = image.point([(value * steps + 127) // 255 for value in range(256)])
    image.putpalette([round(shade) for shade in shades])
    file = io.BytesIO()
    image.save(file, "PNG", bits=1 if is_sharp else 4, compress_level=_COMPRESSION)
    return file.getvalue()
