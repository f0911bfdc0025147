"""The outlines of the dark modules, for formats that are drawn as paths."""

from collections.abc import Iterable, Iterator, Sequence

from waypost.resources.qrcodes.drawing.matrix import Matrix
from waypost.resources.qrcodes.layout import Module
from waypost.resources.qrcodes.style import CodeStyle

Corner = tuple[int, int, bool]
"""(x, y, whether the corner is convex: both neighbors of the module there are light)."""
_Edge = tuple[int, int, int, int]
"""One side of a module: (x, y, step in x, step in y)."""


def areas_and_dots(matrix: Matrix, style: CodeStyle) -> tuple[list[Module], list[Module]]:
    """Return the modules that are drawn as areas, and those that are drawn as dots."""
    if style.style != "dots":
        return list(matrix.dark), []
    areas = [module for module in matrix.dark if matrix.is_eye(*module)]
    return areas, [module for module in matrix.dark if not matrix.is_eye(*module)]


def outlines(modules: Iterable[Module]) -> Iterator[list[Corner]]:
    """Yield closed paths with dark modules on their right. Modules that touch only at a corner are separate."""
    edges = _edges(modules)
    while edges:
        yield list(_follow(edges, next(iter(edges))))


def _edges(modules: Iterable[Module]) -> dict[_Edge, None]:
    """Find the edges in row order, so that the same code always gives the same bytes."""
    edges: dict[_Edge, None] = {}
    dark = dict.fromkeys(modules)
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


def step(start: Sequence[float], end: Sequence[float]) -> tuple[int, int]:
    return (end[0] > start[0]) - (end[0] < start[0]), (end[1] > start[1]) - (end[1] < start[1])


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
