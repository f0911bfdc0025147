"""Rows and columns through a logo that readers could take for the middle of a finder.

A finder is dark, light, dark, light, dark in the ratio 1:1:3:1:1 from every side. A logo between free modules and dark
ones may look like that. Where a row and a column do, readers such as zbar find a fourth finder, and miss the code.
"""

from collections.abc import Sequence
from itertools import pairwise

from waypost.resources.qrcodes.layout import Layout

_UNITS = 7
_PAIRS = (2, 4, 4, 2)
"""Units of two neighboring parts of a finder. Readers round."""


def has_decoy(rows: Sequence[Sequence[int]], layout: Layout) -> bool:
    """Whether both a row and a column look like a finder. `rows`: of the matrix, without what the logo hides."""
    (left, top), (right, bottom), box = min(layout.hidden), max(layout.hidden), layout.logo_box
    columns = [bytes(row[x] for row in rows) for x in range(left + 1, right)]
    return any(_is_finder(row, left, right, box.width) for row in rows[top + 1 : bottom]) and any(
        _is_finder(column, top, bottom, box.height) for column in columns
    )


def _is_finder(line: Sequence[int], start: int, end: int, logo: float) -> bool:
    """Whether a line is that of a finder. `start` and `end`: its first and last hidden module."""
    free = (end + 1 - start - logo) / 2
    light_before, dark_before = _runs(line[:start][::-1])
    light_after, dark_after = _runs(line[end + 1 :])
    parts = (dark_before, free + light_before, logo, free + light_after, dark_after)
    pairs = (one + other for one, other in pairwise(parts))
    return all(
        abs(pair * _UNITS - units * sum(parts)) <= sum(parts) / 2 for pair, units in zip(pairs, _PAIRS, strict=True)
    )


def _runs(line: Sequence[int]) -> tuple[int, int]:
    """Return how many light modules a line begins with, and how many dark ones follow."""
    light = next((count for count, is_dark in enumerate(line) if is_dark), len(line))
    dark = next((count for count, is_dark in enumerate(line[light:]) if not is_dark), len(line) - light)
    return light, dark
