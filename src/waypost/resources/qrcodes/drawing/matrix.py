"""The dark modules of a code, which segno encodes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import segno

from waypost.resources.qrcodes.layout import Layout, Module

MAX_BYTES = {"L": 2953, "M": 2331, "Q": 1663, "H": 1273}
"""The capacity of a code, by level."""


@dataclass(frozen=True, slots=True)
class Matrix:
    size: int
    """Modules per side, without a margin."""
    rows: tuple[bytes, ...]
    """1 for a dark module."""

    @property
    def dark(self) -> Iterator[Module]:
        """The dark modules, row by row."""
        return ((x, y) for y, row in enumerate(self.rows) for x, module in enumerate(row) if module)

    def is_eye(self, x: int, y: int) -> bool:
        """Whether the module is in one of the three finders."""
        far = self.size - 7
        return (x < 7 and (y < 7 or y >= far)) or (x >= far and y < 7)


@lru_cache(256)
def make_matrix(text: str, layout: Layout) -> Matrix:
    """Encode the text, without the modules that the logo hides."""
    options: dict[str, Any] = {"encoding": "utf-8", "micro": False, "boost_error": False}
    rows = [bytearray(row) for row in segno.make(text, error=layout.level, version=layout.version, **options).matrix]
    for x, y in layout.hidden:
        rows[y][x] = 0
    return Matrix(len(rows), tuple(map(bytes, rows)))
