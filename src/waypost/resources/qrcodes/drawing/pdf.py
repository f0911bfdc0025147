"""Draws a code as PDF, in its size on paper. The unit is half a module, as in an SVG."""

from collections.abc import Iterator

from PIL import ImageColor

from waypost.resources.qrcodes.drawing.logo_image import LogoImage, lay_out_with
from waypost.resources.qrcodes.drawing.matrix import Matrix, make_matrix
from waypost.resources.qrcodes.drawing.outlines import Corner, areas_and_dots, outlines, step
from waypost.resources.qrcodes.drawing.pdf_file import PdfFile
from waypost.resources.qrcodes.layout import Module
from waypost.resources.qrcodes.style import CodeStyle

_DOT = 1.8
"""Width of a dot, which is a line without length and with round ends."""
_CONTROL = 0.5523
"""Distance of the control points of a curve that is a quarter of a circle, from its ends."""


def pdf(text: str, style: CodeStyle, logo: LogoImage | None = None) -> bytes:
    """Draw a PDF file with one page of the code's size. Raises TooLong."""
    file = PdfFile()
    form, (width, height) = add_code(file, text, style, logo)
    scale = style.width_mm / width
    content = f"{scale:.6f} 0 0 {scale:.6f} 0 0 cm/C Do"
    file.add_page((style.width_mm, scale * height), content, f"/XObject<</C {form} 0 R>>")
    file.end()
    return file.take()


def add_code(file: PdfFile, text: str, style: CodeStyle, logo: LogoImage | None = None) -> tuple[int, tuple[int, int]]:
    """Add the drawing of a code, and return its number, width and height. Raises TooLong."""
    layout = lay_out_with(text, style, logo)
    matrix, side = make_matrix(text, layout), 2 * layout.side
    content = f"{color(style.background)}0 0 {side} {side} re f 1 0 0 -1 0 {side} cm {color(style.foreground)}"
    return file.add_form((side, side), content + " ".join(_path(matrix, style, layout.code))), (side, side)


def color(text: str) -> str:
    """Set the color of areas and lines."""
    shares = " ".join(f"{channel / 255:.4g}" for channel in ImageColor.getrgb(text))
    return f"{shares} rg {shares} RG "


def _path(matrix: Matrix, style: CodeStyle, origin: Module) -> Iterator[str]:
    areas, dots = areas_and_dots(matrix, style)
    for corners in outlines(areas):
        yield from _outline(corners, origin, is_round=style.style == "fluid")
    yield "f"
    yield from _dots(dots, origin)


def _outline(corners: list[Corner], origin: Module, *, is_round: bool) -> Iterator[str]:
    into_x, into_y = step(corners[-1], corners[0])
    line = "m"
    for corner, after in zip(corners, corners[1:] + corners[:1], strict=True):
        x, y, is_cut = 2 * (corner[0] + origin[0]), 2 * (corner[1] + origin[1]), is_round and corner[2]
        out_x, out_y = step(corner, after)
        yield f"{x - is_cut * into_x} {y - is_cut * into_y} {line}"
        if is_cut:
            first = f"{x - (1 - _CONTROL) * into_x:.6g} {y - (1 - _CONTROL) * into_y:.6g}"
            second = f"{x + (1 - _CONTROL) * out_x:.6g} {y + (1 - _CONTROL) * out_y:.6g}"
            yield f"{first} {second} {x + out_x} {y + out_y} c"
        into_x, into_y, line = out_x, out_y, "l"
    yield "h"


def _dots(modules: list[Module], origin: Module) -> Iterator[str]:
    if modules:
        yield f"1 J {_DOT} w"
        for x, y in modules:
            center = f"{2 * (x + origin[0]) + 1} {2 * (y + origin[1]) + 1}"
            yield f"{center} m {center} l"
        yield "S"
