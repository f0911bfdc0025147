"""The dark modules of a code: segno's encoding, with a mask chosen here.

Of eight masks, the one with the lowest penalty (ISO/IEC 18004, 7.8.3) is the easiest to read. The code is one integer:
shifted against itself, a few operations find the runs, blocks and false finders of all rows at once. That takes a tenth
of the time of checking every module.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import segno

from waypost.resources.qrcodes.style import ErrorCorrection

MAX_BYTES = {"L": 2953, "M": 2331, "Q": 1663, "H": 1273}
"""The capacity of a code, by level."""

_OPTIONS: Mapping[str, Any] = {"encoding": "utf-8", "micro": False, "boost_error": False}
_FALSE_FINDERS = (0b10111010000, 0b00001011101)
_PATTERN_LENGTH = 11
_MODULES = bytes.maketrans(b"01", b"\0\1")


Module = tuple[int, int]
"""(column, row)."""


class TooLong(ValueError):
    """The text does not fit into a code."""


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
def make_matrix(text: str, level: ErrorCorrection) -> Matrix:
    """Encode the text. Raises TooLong."""
    if len(text.encode()) > MAX_BYTES[level]:
        raise TooLong
    first = segno.make(text, error=level, mask=0, **_OPTIONS).matrix
    size = len(first)
    across, down = _to_integer(first), _to_integer(list(zip(*first, strict=True)))
    best = min(_differences(size, level), key=lambda mask: _penalty(across ^ mask[0], down ^ mask[1], size))
    bits = f"{across ^ best[0]:0{size * (size + 1)}b}".encode().translate(_MODULES)
    return Matrix(size, tuple(bits[start : start + size] for start in range(0, len(bits), size + 1)))


def _to_integer(rows: Sequence[Sequence[int]]) -> int:
    """Join all rows to one integer. A light module after each row ends runs and blocks."""
    return int("".join("".join(map(str, row)) + "0" for row in rows), 2)


@lru_cache(160)
def _differences(size: int, level: ErrorCorrection) -> Sequence[tuple[int, int]]:
    """Return the modules that differ between each mask and mask 0, for any text: by rows, and by columns."""
    version = (size - 17) // 4
    codes = [segno.make("0", version=version, error=level, mask=mask, **_OPTIONS).matrix for mask in range(8)]
    numbers = [(_to_integer(rows), _to_integer(list(zip(*rows, strict=True)))) for rows in codes]
    return [(across ^ numbers[0][0], down ^ numbers[0][1]) for across, down in numbers]


def _penalty(across: int, down: int, size: int) -> int:
    stride = size + 1
    modules = ((1 << stride * size) - 1) // ((1 << stride) - 1) * ((1 << size) - 1) << 1
    dark = across.bit_count()
    balance = 10 * (abs(20 * dark - 10 * size * size) // (size * size))
    blocks = 3 * _blocks(across, modules, stride)
    return balance + blocks + sum(_runs(code, modules) + _false_finders(code, modules) for code in (across, down))


def _runs(code: int, modules: int) -> int:
    """Score runs: 3 for five modules of one color in a row, and 1 for each further one."""
    alike = ~(code ^ code >> 1) & modules & modules >> 1
    fives = alike & alike >> 1 & alike >> 2 & alike >> 3
    return fives.bit_count() + 2 * (fives & ~(fives << 1)).bit_count()


def _blocks(code: int, modules: int, stride: int) -> int:
    """Count squares of two by two modules in one color."""
    beside = ~(code ^ code >> 1) & modules & modules >> 1
    below = ~(code ^ code >> stride) & modules & modules >> stride
    return (beside & beside >> stride & below).bit_count()


def _false_finders(code: int, modules: int) -> int:
    count = 0
    for pattern in _FALSE_FINDERS:
        at = modules
        for offset in range(_PATTERN_LENGTH):
            shifted = code >> offset
            at &= (shifted if pattern >> offset & 1 else ~shifted) & modules >> offset
        count += at.bit_count()
    return 40 * count
