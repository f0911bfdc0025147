"""The outlines of a code's dark modules: closed paths with the dark modules on their right.

Modules that touch only at a corner are separate: each keeps its own outline there.
"""

from collections.abc import Collection, Iterator

from waypost.resources.qrcodes.drawing.matrix import Module

Corner = tuple[int, int, bool]
"""(x, y, whether the corner is convex: both neighbours of the module there are light)."""
_Edge = tuple[int, int, int, int]
"""One side of a module: (x, y, step in x, step in y)."""


def outlines(dark: Collection[Module]) -> Iterator[list[Corner]]:
    edges = _edges(dark)
    while edges:
        yield list(_follow(edges, next(iter(edges))))


def _edges(dark: Collection[Module]) -> dict[_Edge, None]:
    """In row order, so that the same code always gives the same bytes."""
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
    """Turns right if possible, to stay at the same module. Removes the edges it follows."""
    x, y, dx, dy = first
    while True:
        x, y = x + dx, y + dy
        right, ahead = (x, y, -dy, dx), (x, y, dx, dy)
        if right in edges:
            yield x, y, True
            taken = right
        elif ahead in edges:
            taken = ahead
        else:
            yield x, y, False
            taken = (x, y, dy, -dx)
        del edges[taken]
        if taken == first:
            return
        _, _, dx, dy = taken
