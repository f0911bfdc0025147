"""Draws a code as SVG: a background and one path. The unit is half a module, so round corners have a radius of 1."""

from collections.abc import Iterator

from waypost.resources.qrcodes.drawing.matrix import Matrix, Module, make_matrix
from waypost.resources.qrcodes.drawing.outlines import Corner, areas_and_dots, outlines, step
from waypost.resources.qrcodes.style import CodeStyle

_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" viewBox="0 0 {side} {side}"'
    ' shape-rendering="{rendering}">'
    '<path fill="{background}" d="M0 0h{side}v{side}H0z"/><path fill="{foreground}" d="{path}"/></svg>\n'
)
_DOT = "a.9.9 0 1 0 .01 0z"
"""A circle from its top, except a hundredth of a unit: one arc is shorter than two."""


def svg(text: str, style: CodeStyle) -> bytes:
    """Draw an SVG. Raises TooLong."""
    matrix = make_matrix(text, style.level)
    return _SVG.format(
        size=style.size,
        side=2 * (matrix.size + 2 * style.margin),
        rendering="crispEdges" if style.style == "squares" else "geometricPrecision",
        background=style.background,
        foreground=style.foreground,
        path="".join(_path(matrix, style)),
    ).encode()


def _path(matrix: Matrix, style: CodeStyle) -> Iterator[str]:
    areas, dots = areas_and_dots(matrix, style)
    for corners in outlines(areas):
        yield "".join(_outline(corners, style.margin, is_round=style.style == "fluid"))
    yield from _dots(dots, style.margin)


def _outline(corners: list[Corner], margin: int, *, is_round: bool) -> Iterator[str]:
    """Draw from corner to corner; a round corner starts and ends one unit from it."""
    points = [(2 * (x + margin), 2 * (y + margin), is_round and is_convex) for x, y, is_convex in corners]
    steps = [step(point, after) for point, after in zip(points, points[1:] + points[:1], strict=True)]
    x, y, is_cut = points[-1]
    (into_x, into_y) = steps[-1]
    at_x, at_y = x + is_cut * into_x, y + is_cut * into_y
    yield f"M{at_x} {at_y}"
    for (x, y, is_cut), (out_x, out_y) in zip(points, steps, strict=True):
        if along := (x - is_cut * into_x - at_x) if into_x else (y - is_cut * into_y - at_y):
            yield f"{'h' if into_x else 'v'}{along}"
        if is_cut:
            yield f"a1 1 0 0 1{_two(into_x + out_x, into_y + out_y)}"
        at_x, at_y = x + is_cut * out_x, y + is_cut * out_y
        into_x, into_y = out_x, out_y
    yield "z"


def _dots(modules: list[Module], margin: int) -> Iterator[str]:
    """Draw the dots. Each starts relative to the top of the last one, where its path closed."""
    before: Module | None = None
    for x, y in modules:
        if before is None:
            yield f"M{2 * (x + margin) + 1} {2 * (y + margin)}.1{_DOT}"
        else:
            yield f"m{2 * (x - before[0])}{_number(2 * (y - before[1]))}{_DOT}"
        before = x, y


def _two(x: int, y: int) -> str:
    return f"{_number(x)}{_number(y)}"


def _number(value: int) -> str:
    """Write a number after another one; a minus sign separates them already."""
    return f"{value}" if value < 0 else f" {value}"
