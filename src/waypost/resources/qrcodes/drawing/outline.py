"""The outlines of a code's dark modules, each as one closed way with the dark on its right.

Modules that touch only with their corners are not one piece: where two meet like that, each keeps its own outline.
"""

from collections.abc import Collection, Iterator

from waypost.resources.qrcodes.drawing.matrix import Module

Corner = tuple[int, int, bool]
"""(x, y, whether it sticks out: both neighbours that the module has there are light)."""
_Edge = tuple[int, int, int, int]
"""(x, y, and the step along it): one side of a module."""


def outlines(dark: Collection[Module]) -> Iterator[list[Corner]]:
    edges = _edges(dark)
    while edges:
        yield list(_followed(edges, next(iter(edges))))


def _edges(dark: Collection[Module]) -> dict[_Edge, None]:
    """In the order of rows: the same code is always drawn with the same bytes."""
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


def _followed(edges: dict[_Edge, None], first: _Edge) -> Iterator[Corner]:
    """To the right where there is a choice: that is around the same module. What was followed leaves `edges`."""
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
