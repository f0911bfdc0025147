"""Draws a code as PNG: tiles on full pixels, in sixteen shades from background to foreground.

Some modules are a pixel wider than others if the size requires it, so straight edges stay sharp. A code with less than
four pixels per module is drawn larger and scaled down, which preserves the proportions.
"""

import io
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from PIL import Image, ImageChops, ImageColor, ImageDraw

from waypost.resources.qrcodes.drawing.letters import Outline, outlines
from waypost.resources.qrcodes.drawing.logo_image import LogoImage, lay_out_with
from waypost.resources.qrcodes.drawing.matrix import Matrix, make_matrix
from waypost.resources.qrcodes.layout import INNER_RADIUS, OUTER_RADIUS, Box, Layout, Module
from waypost.resources.qrcodes.style import CodeStyle

_SHADES = 16
_SHARP_FROM = 4  # pixels per module
_SHRUNK_FROM = 8
_OVERSAMPLING = 8  # of a tile, for smooth edges
_INSET = 20  # a dot leaves 1/20 of its module empty on each side
_FRAME_OVERSAMPLING, _FRAME_PIXELS = 4, 4096
_COMPRESSION = 6  # 9 takes ten times as long, for a tenth less

Tile = Sequence[bytes]
"""Rows of pixels; 255 is dark."""
Corners = tuple[bool, bool, bool, bool]
"""Whether the top left, top right, bottom right and bottom left are round."""

_SQUARE: Corners = (False, False, False, False)


def png(text: str, style: CodeStyle, logo: LogoImage | None = None) -> bytes:
    """Draw a PNG. Raises TooLong."""
    layout = lay_out_with(text, style, logo)
    matrix = make_matrix(text, layout)
    is_sharp = style.size >= _SHARP_FROM * layout.side
    side = style.size if is_sharp else _SHRUNK_FROM * layout.side
    edges = [(2 * index * side + layout.side) // (2 * layout.side) for index in range(layout.side + 1)]
    image = Image.frombytes("L", (side, side), b"".join(_lines(matrix, edges, layout.code, style)))
    if layout.has_frame:
        image = ImageChops.lighter(image, _frame(layout, style, edges))
    if not is_sharp:
        image = image.resize((style.size, style.size), Image.Resampling.BOX)
    image, bits = _colored(image, style)
    file = io.BytesIO()
    if logo and layout.logo_size:
        _with_logo(image, layout, style, logo).save(file, "PNG", compress_level=_COMPRESSION)
    else:
        image.save(file, "PNG", bits=bits, compress_level=_COMPRESSION)
    return file.getvalue()


def _with_logo(image: Image.Image, layout: Layout, style: CodeStyle, logo: LogoImage) -> Image.Image:
    scale = style.size / layout.side
    image = image.convert("RGB")
    if logo.needs_ground(style):
        left, top, right, bottom = _pixels(layout.logo_ground, scale)
        ImageDraw.Draw(image).rounded_rectangle((left, top, right - 1, bottom - 1), scale, fill=style.foreground)
    left, top, right, bottom = _pixels(layout.logo_box, scale)
    with Image.open(io.BytesIO(logo.content)) as opened:
        pasted = opened.convert("RGBA").resize((right - left, bottom - top), Image.Resampling.LANCZOS)
    image.paste(pasted, (left, top), pasted)
    return image


def _pixels(box: Box, scale: float) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom; at least a pixel."""
    left, top = round(box.left * scale), round(box.top * scale)
    right, bottom = round((box.left + box.width) * scale), round((box.top + box.height) * scale)
    return left, top, max(left + 1, right), max(top + 1, bottom)


def _frame(layout: Layout, style: CodeStyle, edges: Sequence[int]) -> Image.Image:
    """Draw the frame larger, for smooth edges."""
    side = edges[-1]
    factor = max(1, min(_FRAME_OVERSAMPLING, _FRAME_PIXELS // side))
    image = Image.new("L", (side * factor, side * factor))
    pen, scale = ImageDraw.Draw(image), side * factor / layout.side
    for box, radius, fill in zip(layout.frame, (OUTER_RADIUS, INNER_RADIUS), (255, 0), strict=True):
        left, top, right, bottom = (
            edges[int(place)] * factor for place in (box.left, box.top, box.left + box.width, box.top + box.height)
        )
        pen.rounded_rectangle((left, top, right - 1, bottom - 1), radius * scale, fill=fill)
    shapes = outlines(style.frame_text, layout)
    areas = [(_area(shape), [(x * scale, y * scale) for x, y in shape]) for shape in shapes]
    for area, shape in sorted(areas, key=lambda each: -abs(each[0])):
        pen.polygon(shape, fill=0 if area > 0 else 255)
    return image.reduce(factor)


def _area(shape: Outline) -> float:
    """Return twice the area: positive for a shape, negative for a hole, which is drawn after what is around it."""
    return sum(x * after_y - after_x * y for (x, y), (after_x, after_y) in pairwise([*shape, shape[0]]))


def _lines(matrix: Matrix, edges: Sequence[int], origin: Module, style: CodeStyle) -> Iterator[bytes]:
    """Yield the rows of pixels."""
    side, sizes = edges[-1], [end - start for start, end in pairwise(edges)]
    left, top = origin
    widths, heights = sizes[left : left + matrix.size], sizes[top : top + matrix.size]
    dark = frozenset(matrix.dark)
    blank = bytes(edges[left])
    yield bytes(edges[top] * side)
    for y, height in enumerate(heights):
        tiles = [_tile(width, height, _shape(matrix, dark, (x, y), style)) for x, width in enumerate(widths)]
        for parts in zip(*tiles, strict=True):
            line = blank + b"".join(parts)
            yield line + bytes(side - len(line))
    yield bytes((side - edges[top + matrix.size]) * side)


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


def _colored(image: Image.Image, style: CodeStyle) -> tuple[Image.Image, int]:
    """Return the image in its colors, and the bits per pixel: one if all edges are sharp."""
    is_sharp = len(image.getcolors() or ()) <= 2
    steps = 1 if is_sharp else _SHADES - 1
    background, foreground = ImageColor.getrgb(style.background), ImageColor.getrgb(style.foreground)
    channels = list(zip(background, foreground, strict=True))
    shades = [(a + (b - a) * step / steps) for step in range(steps + 1) for a, b in channels]
    image = image.point([(value * steps + 127) // 255 for value in range(256)])
    image.putpalette([round(shade) for shade in shades])
    return image, 1 if is_sharp else 4
