"""Draws a code as SVG: a background and one path. The unit is half a module, so round corners have a radius of 1."""

from base64 import b64encode
from collections.abc import Iterator

from waypost.resources.qrcodes.drawing import letters
from waypost.resources.qrcodes.drawing.logo_image import LogoImage, lay_out_with
from waypost.resources.qrcodes.drawing.matrix import Matrix, make_matrix
from waypost.resources.qrcodes.drawing.outlines import Corner, areas_and_dots, outlines, step
from waypost.resources.qrcodes.layout import INNER_RADIUS, OUTER_RADIUS, Box, Layout, Module
from waypost.resources.qrcodes.style import CodeStyle

_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" viewBox="0 0 {side} {side}"'
    ' shape-rendering="{rendering}">'
    '<path fill="{background}" d="M0 0h{side}v{side}H0z"/><path fill="{foreground}" d="{path}"/>{more}</svg>\n'
)
_DOT = "a.9.9 0 1 0 .01 0z"
"""A circle from its top, except a hundredth of a unit: one arc is shorter than two."""


def svg(text: str, style: CodeStyle, logo: LogoImage | None = None) -> bytes:
    """Draw an SVG. Raises TooLong."""
    layout = lay_out_with(text, style, logo)
    matrix = make_matrix(text, layout)
    return _SVG.format(
        size=style.size,
        side=2 * layout.side,
        rendering="crispEdges" if style.style == "squares" else "geometricPrecision",
        background=style.background,
        foreground=style.foreground,
        path="".join(_path(matrix, style, layout.code)),
        more="".join((*_logo(layout, style, logo), *_frame(layout, style))),
    ).encode()


def _logo(layout: Layout, style: CodeStyle, logo: LogoImage | None) -> Iterator[str]:
    if not logo or not layout.logo_size:
        return
    if logo.needs_ground(style):
        yield f'<path fill="{style.foreground}" d="{_rounded(layout.logo_ground, 1)}"/>'
    left, top, width, height = (f"{2 * length:.6g}" for length in layout.logo_box)
    yield (
        f'<image x="{left}" y="{top}" width="{width}" height="{height}" preserveAspectRatio="none"'
        f' xlink:href="data:image/png;base64,{b64encode(logo.content).decode()}"'
        ' xmlns:xlink="http://www.w3.org/1999/xlink"/>'
    )


def _frame(layout: Layout, style: CodeStyle) -> Iterator[str]:
    if not layout.has_frame:
        return
    outer, inner = layout.frame
    shapes = letters.outlines(style.frame_text, layout)
    text = "".join("M" + "L".join(f"{2 * x:.2f} {2 * y:.2f}" for x, y in shape) + "z" for shape in shapes)
    yield (
        f'<g shape-rendering="geometricPrecision"><path fill="{style.foreground}" fill-rule="evenodd"'
        f' d="{_rounded(outer, OUTER_RADIUS)}{_rounded(inner, INNER_RADIUS)}"/>'
        f'<path fill="{style.background}" d="{text}"/></g>'
    )


def _rounded(box: Box, radius: float) -> str:
    left, top, width, height = (2 * length for length in box)
    radius *= 2
    corner = f"a{radius:g} {radius:g} 0 0 1"
    across, down = f"{width - 2 * radius:.6g}", f"{height - 2 * radius:.6g}"
    return (
        f"M{left + radius:.6g} {top:.6g}h{across}{corner} {radius:g} {radius:g}v{down}{corner}-{radius:g} {radius:g}"
        f"h-{across}{corner}-{radius:g}-{radius:g}v-{down}{corner} {radius:g}-{radius:g}z"
    )


def _path(matrix: Matrix, style: CodeStyle, origin: Module) -> Iterator[str]:
    areas, dots = areas_and_dots(matrix, style)
    for corners in outlines(areas):
        yield "".join(_outline(corners, origin, is_round=style.style == "fluid"))
    yield from _dots(dots, origin)


def _outline(corners: list[Corner], origin: Module, *, is_round: bool) -> Iterator[str]:
    """Draw from corner to corner; a round corner starts and ends one unit from it."""
    left, top = origin
    points = [(2 * (x + left), 2 * (y + top), is_round and is_convex) for x, y, is_convex in corners]
    steps = [step(point, after) for point, after in zip(points, points[1:] + points[:1], strict=True)]
    x, y, is_cut = points[-1]
    (into_x, into_y) = steps[-1]
    at_x, at_y = x + is_cut * into_x, y + is_cut * into_y
    yield f"M{at_x} {at_y}"
    for (x, y, is_cut), (out_x, out_y) in zip(points, steps, strict=True):
        if along := (x - is_cut * into_x - at_x) if into_x else (y - is_cut * into_y - at_y):
            yield f"{'h' if into_x else 'v'}{along}"
        if is_cut:
            yield f"a1 1 0 0 1{_number(into_x + out_x)}{_number(into_y + out_y)}"
        at_x, at_y = x + is_cut * out_x, y + is_cut * out_y
        into_x, into_y = out_x, out_y
    yield "z"


def _dots(modules: list[Module], origin: Module) -> Iterator[str]:
    """Draw the dots. Each starts relative to the top of the last one, where its path closed."""
    before: Module | None = None
    for x, y in modules:
        if before is None:
            yield f"M{2 * (x + origin[0]) + 1} {2 * (y + origin[1])}.1{_DOT}"
        else:
            yield f"m{2 * (x - before[0])}{_number(2 * (y - before[1]))}{_DOT}"
        before = x, y


def _number(value: int) -> str:
    """Write a number after another one; a minus sign separates them already."""
    return f"{value}" if value < 0 else f" {value}"
