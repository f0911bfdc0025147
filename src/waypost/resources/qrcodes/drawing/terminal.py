"""Draws a code as lines of text: each character is two modules, one above the other, as half blocks.

In color, dark modules are black on white in every theme. Plain text draws the light modules and the margin, because
most terminals show light text on dark.
"""

from collections.abc import Iterator
from itertools import zip_longest

from waypost.resources.qrcodes.drawing.matrix import Matrix

_BLACK_ON_WHITE, _RESET = "\x1b[38;5;16;48;5;231m", "\x1b[0m"  # two of the 256 colors, which no theme changes
_INK = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def colored(matrix: Matrix, margin: int) -> Iterator[str]:
    """Lines of `matrix.size + 2 * margin` columns, like `plain`."""
    return (f"{_BLACK_ON_WHITE}{line}{_RESET}" for line in _lines(matrix, margin, ink=1))


def plain(matrix: Matrix, margin: int) -> Iterator[str]:
    return _lines(matrix, margin, ink=0)


def _lines(matrix: Matrix, margin: int, *, ink: int) -> Iterator[str]:
    """With an odd number of rows, the last line has an extra row of margin."""
    side, blank = bytes(margin), bytes(matrix.size + 2 * margin)
    rows = [*[blank] * margin, *(side + row + side for row in matrix.rows), *[blank] * margin]
    for above, below in zip_longest(rows[::2], rows[1::2], fillvalue=blank):
        yield "".join(_INK[top == ink, bottom == ink] for top, bottom in zip(above, below, strict=True))
