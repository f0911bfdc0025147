"""Draws a code as PDF, in its size on paper. The unit is half a module, as in an SVG."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from io import BytesIO

from PIL import Image, ImageColor

from waypost.resources.qrcodes.drawing import letters
from waypost.resources.qrcodes.drawing.logo_image import LogoImage, lay_out_with
from waypost.resources.qrcodes.drawing.matrix import Matrix, make_matrix
from waypost.resources.qrcodes.drawing.outlines import Corner, areas_and_dots, outlines, step
from waypost.resources.qrcodes.drawing.pdf_file import PdfFile, compress
from waypost.resources.qrcodes.layout import INNER_RADIUS, OUTER_RADIUS, Box, Layout, Module
from waypost.resources.qrcodes.style import CodeStyle

_DOT = 1.8
"""Width of a dot, which is a line without length and with round ends."""
_CONTROL = 0.5523
"""Distance of the control points of a curve that is a quarter of a circle, from its ends."""


def pdf(text: str, style: CodeStyle, logo: LogoImage | None = None) -> bytes:
    """Draw a PDF file with one page of the code's size. Raises TooLong."""
    file = PdfFile()
    form, side = add_code(file, text, style, logo)
    scale = style.width_mm / side
    content = f"{scale:.6f} 0 0 {scale:.6f} 0 0 cm/C Do"
    file.add_page((style.width_mm, style.width_mm), content, f"/XObject<</C {form} 0 R>>")
    file.end()
    return file.take()


def add_code(file: PdfFile, text: str, style: CodeStyle, logo: LogoImage | None = None) -> tuple[int, int]:
    """Add the drawing of a code, and return its number and the length of its sides. Raises TooLong."""
    layout = lay_out_with(text, style, logo)
    matrix, side = make_matrix(text, layout), 2 * layout.side
    content = [f"{color(style.background)}0 0 {side} {side} re f 1 0 0 -1 0 {side} cm {color(style.foreground)}"]
    content += [*_path(matrix, style, layout.code), *_frame(layout, style)]
    resources = ""
    if logo and layout.logo_size:
        content += _logo(layout, style, logo)
        resources = f"/XObject<</G {_add_image(file, logo)} 0 R>>"
    return file.add_form((side, side), "\n".join(content), resources), side


def color(text: str) -> str:
    """Set the color of areas and lines."""
    shares = " ".join(f"{channel / 255:.4g}" for channel in ImageColor.getrgb(text))
    return f"{shares} rg {shares} RG "


def polygon(corners: Iterable[tuple[float, float]]) -> str:
    first, *others = [f"{x:.2f} {y:.2f}" for x, y in corners]
    return f"{first} m {' l '.join(others)} l h"


def _path(matrix: Matrix, style: CodeStyle, origin: Module) -> Iterator[str]:
    areas, dots = areas_and_dots(matrix, style)
    for corners in outlines(areas):
        yield from _outline(corners, origin, is_round=style.style == "fluid")
    yield "f"
    yield from _dots(dots, origin)


def _outline(corners: Sequence[Corner], origin: Module, *, is_round: bool) -> Iterator[str]:
    left, top = origin
    return _shape([(2 * (x + left), 2 * (y + top), float(is_round and is_convex)) for x, y, is_convex in corners])


def _shape(corners: Sequence[tuple[float, float, float]]) -> Iterator[str]:
    """Draw a shape of edges that are horizontal or vertical. `corners`: (x, y, radius)."""
    into_x, into_y = step(corners[-1], corners[0])
    line = "m"
    for corner, after in zip(corners, [*corners[1:], corners[0]], strict=True):
        (x, y, radius), (out_x, out_y) = corner, step(corner, after)
        yield f"{x - radius * into_x:g} {y - radius * into_y:g} {line}"
        if radius:
            near = radius * (1 - _CONTROL)
            controls = f"{x - near * into_x:g} {y - near * into_y:g} {x + near * out_x:g} {y + near * out_y:g}"
            yield f"{controls} {x + radius * out_x:g} {y + radius * out_y:g} c"
        into_x, into_y, line = out_x, out_y, "l"
    yield "h"


def _dots(modules: Sequence[Module], origin: Module) -> Iterator[str]:
    if modules:
        yield f"1 J {_DOT} w"
        for x, y in modules:
            center = f"{2 * (x + origin[0]) + 1} {2 * (y + origin[1]) + 1}"
            yield f"{center} m {center} l"
        yield "S"


def _frame(layout: Layout, style: CodeStyle) -> Iterator[str]:
    if layout.has_frame:
        outer, inner = layout.frame
        yield from (*_rounded(outer, OUTER_RADIUS), *_rounded(inner, INNER_RADIUS), "f*", color(style.background))
        for shape in letters.outlines(style.frame_text, layout):
            yield polygon((2 * x, 2 * y) for x, y in shape)
        yield f"f {color(style.foreground)}"


def _rounded(box: Box, radius: float) -> Iterator[str]:
    left, top, width, height = (2 * length for length in box)
    right, bottom = left + width, top + height
    return _shape([(x, y, 2 * radius) for x, y in ((left, top), (right, top), (right, bottom), (left, bottom))])


def _logo(layout: Layout, style: CodeStyle, logo: LogoImage) -> Iterator[str]:
    if logo.needs_ground(style):
        yield from (*_rounded(layout.logo_ground, 1), "f")
    left, top, width, height = (2 * length for length in layout.logo_box)
    yield f"q {width:g} 0 0 {-height:g} {left:g} {top + height:g} cm/G Do Q"


def _add_image(file: PdfFile, logo: LogoImage) -> int:
    """Add the image of a logo, once to a file."""
    if logo.logo.name not in file.images:
        entries, colors, alpha = compressed_image(logo.content)
        mask = file.add_compressed(f"{entries}/ColorSpace/DeviceGray", alpha)
        colored = f"{entries}/ColorSpace/DeviceRGB/SMask {mask} 0 R"
        file.images[logo.logo.name] = file.add_compressed(colored, colors)
    return file.images[logo.logo.name]


@lru_cache(4)
def compressed_image(png: bytes) -> tuple[str, bytes, bytes]:
    """Return entries, colors and alpha. A large logo takes longer than its code, and codes of a file share it."""
    image = Image.open(BytesIO(png)).convert("RGBA")
    entries = f"/Type/XObject/Subtype/Image/Width {image.width}/Height {image.height}/BitsPerComponent 8"
    return entries, compress(image.convert("RGB").tobytes()), compress(image.getchannel("A").tobytes())
