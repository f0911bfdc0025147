"""Draws a code as SVG: a background and one path. The unit is half a module, so round corners have a radius of 1."""

from collections.abc import Collection, Iterator

from waypost.resources.qrcodes.drawing.matrix import Matrix, Module, make_matrix
from waypost.resources.qrcodes.style import CodeStyle

_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" viewBox="0 0 {side} {side}"'
    ' shape-rendering="{rendering}">'
    '<path fill="{background}" d="M0 0h{side}v{side}H0z"/><path fill="{foreground}" d="{path}"/></svg>\n'
)
_DOT = "a.9.9 0 1 0 .01 0z"
"""A circle from its top, except a hundredth of a unit: one arc is shorter than two."""


Corner = tuple[int, int, bool]
"""(x, y, whether the corner is convex: both neighbors of the module there are light)."""
_Edge = tuple[int, int, int, int]
"""One side of a module: (x, y, step in x, step in y)."""


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
    dark = dict.fromkeys(matrix.dark)
    if style.style == "dots":
        eyes = {module: None for module in dark if matrix.is_eye(*module)}
        yield from _shapes(eyes, style.margin, is_round=False)
        yield from _dots([module for module in dark if module not in eyes], style.margin)
    else:
        yield from _shapes(dark, style.margin, is_round=style.style == "fluid")


def _shapes(dark: dict[Module, None], margin: int, *, is_round: bool) -> Iterator[str]:
    for corners in _outlines(dark):
        yield "".join(_outline(corners, margin, is_round=is_round))


def _outline(corners: list[Corner], margin: int, *, is_round: bool) -> Iterator[str]:
    """Draw from corner to corner; a round corner starts and ends one unit from it."""
    points = [(2 * (x + margin), 2 * (y + margin), is_round and is_convex) for x, y, is_convex in corners]
    steps = [_step(point, after) for point, after in zip(points, points[1:] + points[:1], strict=True)]
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


def _step(start: Corner, end: Corner) -> tuple[int, int]:
    return (end[0] > start[0]) - (end[0] < start[0]), (end[1] > start[1]) - (end[1] < start[1])


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


def _outlines(dark: Collection[Module]) -> Iterator[list[Corner]]:
    """Yield closed paths with dark modules on their right. Modules that touch only at a corner are separate."""
    edges = _edges(dark)
    while edges:
        yield list(_follow(edges, next(iter(edges))))


def _edges(dark: Collection[Module]) -> dict[_Edge, None]:
    """Find the edges in row order, so that the same code always gives the same bytes."""
    edges: dict[_Edge, None] = {}
    for x, y in dark:
        if (x, y - 1) not in dark:
            edges[x, y, 1, 0] = None
        if (x + 1, y) not in dark:
            edges[x + 1, y, 0, 1] = None
        if (x, y + 1) not in dark:
            edges[x + 1, y + 1, -1, 0] = None
        if (x - 1, y) not in dark:
            edges[x, y + 1, 0, -1] = None
    return edges


def _follow(edges: dict[_Edge, None], first: _Edge) -> Iterator[Corner]:
    """Follow and remove edges. Turns right if possible, to stay at the same module."""
    x, y, dx, dy = first
    while True:
        x, y = x + dx, y + dy
        right, ahead = (x, y, -dy, dx), (x, y, dx, dy)
        if right in edges:
            yield x, y, True
            next_edge = right
        elif ahead in edges:
            next_edge = ahead
        else:
            yield x, y, False
            next_edge = (x, y, dy, -dx)
        del edges[next_edge]
        if next_edge == first:
            return
        _, _, dx, dy = next_edge
