"""Which modules of a code are dark: segno's encoding, under a mask that is chosen here.

Of eight masks a code takes the one that makes it easiest to read. Each is judged by the standard's four penalties
(ISO/IEC 18004, 7.8.3), with the whole code as one integer: shifted against itself, it shows its runs, blocks and false
finders to a few operations, for all rows at once. That takes a tenth of the time of looking at every module.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import segno
from segno import consts

from waypost.resources.qrcodes.look import Level

MAX_BYTES = {"L": 2953, "M": 2331, "Q": 1663, "H": 1273}
"""What a code of each level can hold."""

_MASKS: Sequence[Callable[[int, int], bool]] = (
    lambda y, x: (y + x) % 2 == 0,
    lambda y, _x: y % 2 == 0,
    lambda _y, x: x % 3 == 0,
    lambda y, x: (y + x) % 3 == 0,
    lambda y, x: (y // 2 + x // 3) % 2 == 0,
    lambda y, x: y * x % 2 + y * x % 3 == 0,
    lambda y, x: (y * x % 2 + y * x % 3) % 2 == 0,
    lambda y, x: ((y + x) % 2 + y * x % 3) % 2 == 0,
)
_DATA = frozenset({consts.TYPE_DATA_DARK, consts.TYPE_DATA_LIGHT})
_FALSE_FINDERS = (0b10111010000, 0b00001011101)
_PATTERN = 11


Module = tuple[int, int]
"""(column, row)."""


class TooLong(ValueError):
    """The text does not fit into a code."""


@dataclass(frozen=True, slots=True)
class Matrix:
    size: int
    """Modules a side, without a margin."""
    rows: tuple[bytes, ...]
    """1 for a dark module."""

    @property
    def dark(self) -> Iterator[Module]:
        """The dark modules, row by row."""
        return ((x, y) for y, row in enumerate(self.rows) for x, module in enumerate(row) if module)

    def is_eye(self, x: int, y: int) -> bool:
        """Whether the module belongs to one of the three finders."""
        far = self.size - 7
        return (x < 7 and (y < 7 or y >= far)) or (x >= far and y < 7)


@lru_cache(256)
def matrix_of(text: str, level: Level) -> Matrix:
    """Raises TooLong."""
    if len(text.encode()) > MAX_BYTES[level]:
        raise TooLong
    first = _made(text, level, 0)
    best = _best_mask(first)
    rows = (first if best == 0 else _made(text, level, best)).matrix
    return Matrix(len(rows), tuple(map(bytes, rows)))


def _made(text: str, level: Level, mask: int) -> segno.QRCode:
    return segno.make(text, error=level, mask=mask, encoding="utf-8", micro=False, boost_error=False)


def _best_mask(first: segno.QRCode) -> int:
    """`first` has mask 0. What a mask does to the format's few modules is left out of account."""
    size = len(first.matrix)
    across, down = _whole(first.matrix), _whole(list(zip(*first.matrix, strict=True)))
    others = _differences(size)
    return min(range(len(_MASKS)), key=lambda mask: _penalty(across ^ others[mask][0], down ^ others[mask][1], size))


def _whole(rows: Sequence[Sequence[int]]) -> int:
    """All rows in one integer, each with a light module behind it, which no run and no block can pass."""
    return int("".join("".join(map(str, row)) + "0" for row in rows), 2)


@lru_cache(40)
def _differences(size: int) -> Sequence[tuple[int, int]]:
    """Of each mask what it turns that mask 0 does not, and the other way round: by rows, and by columns."""
    version = (size - 17) // 4
    kinds = list(segno.make("0", version=version, micro=False, boost_error=False).matrix_iter(border=0, verbose=True))
    turned = []
    for mask in _MASKS:
        rows = [
            [kind in _DATA and mask(y, x) != _MASKS[0](y, x) for x, kind in enumerate(row)]
            for y, row in enumerate(kinds)
        ]
        numbers = [[int(each) for each in row] for row in rows]
        turned.append((_whole(numbers), _whole(list(zip(*numbers, strict=True)))))
    return turned


def _penalty(across: int, down: int, size: int) -> int:
    stride = size + 1
    modules = ((1 << stride * size) - 1) // ((1 << stride) - 1) * ((1 << size) - 1) << 1
    dark = across.bit_count()
    balance = 10 * (abs(20 * dark - 10 * size * size) // (size * size))
    blocks = 3 * _blocks(across, modules, stride)
    return balance + blocks + sum(_runs(way, modules) + _false_finders(way, modules) for way in (across, down))


def _runs(code: int, modules: int) -> int:
    """3 for five modules of one colour in a row, and 1 for each further one."""
    alike = ~(code ^ code >> 1) & modules & modules >> 1
    fives = alike & alike >> 1 & alike >> 2 & alike >> 3
    return fives.bit_count() + 2 * (fives & ~(fives << 1)).bit_count()


def _blocks(code: int, modules: int, stride: int) -> int:
    """Squares of two by two in one colour."""
    beside = ~(code ^ code >> 1) & modules & modules >> 1
    below = ~(code ^ code >> stride) & modules & modules >> stride
    return (beside & beside >> stride & below).bit_count()


def _false_finders(code: int, modules: int) -> int:
    found = 0
    for pattern in _FALSE_FINDERS:
        at = modules
        for place in range(_PATTERN):
            shifted = code >> place
            at &= (shifted if pattern >> place & 1 else ~shifted) & modules >> place
        found += at.bit_count()
    return 40 * found
