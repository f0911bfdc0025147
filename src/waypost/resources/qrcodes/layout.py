"""Where everything is in the image of a code, in modules; and how much of the code a logo may cover. No I/O.

A logo hides modules, and readers correct what they miss. They do so in each block of the code on its own, whose
codewords lie interleaved. A logo is drawn only where no block loses more than half of what its error correction
restores, so that as much is left for dirt and blur. Version and level are raised until that holds.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from math import ceil
from typing import Any, NamedTuple, get_args

from waypost.resources.qrcodes.style import MIN_LOGO_SIZE, CodeStyle, ErrorCorrection

MAX_LOGO_VERSION = 10
_LAST_VERSION = 40
_LONG_FROM = 10
"""From this version on, the length of a text takes two bytes."""
_VERSION_FROM = _CENTERED_FROM = 7
"""From this version on, a code says its version, and has an alignment pattern in its middle."""
_CLEAR = 1
"""Modules around a logo that are kept free."""
_FRAME_MARGIN = 2
"""Modules between a frame and the code at least: readers find no finder that touches it."""
_ALIGNMENT = 5
"""Modules per side of an alignment pattern. One in the middle is hidden as a whole."""
OUTER_RADIUS, INNER_RADIUS = 2, 1
"""Of the corners of a frame, in modules."""
_LEVELS: Sequence[ErrorCorrection] = get_args(ErrorCorrection)

Module = tuple[int, int]
"""(column, row)."""
Size = tuple[int, int]
"""Width and height."""


class TooLong(ValueError):
    """The text does not fit into a code."""


class Box(NamedTuple):
    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """Of the image of one code, which is a square. Positions are those of the image, in modules."""

    version: int
    level: ErrorCorrection
    margin: int
    logo_size: float
    """Of the code's width; 0 without a logo."""
    logo: Size
    """Pixels."""
    has_frame: bool
    clear_size: float = 0.0
    """Of a smaller logo that hides no alignment pattern, if this one does. 0 if there is none."""

    @property
    def hides_alignment(self) -> bool:
        """Whether the logo hides the alignment pattern in the middle."""
        return self.logo_size > 0 and self.version >= _CENTERED_FROM

    @property
    def modules(self) -> int:
        """Per side of the code, without the margin."""
        return 17 + 4 * self.version

    @property
    def band(self) -> int:
        """Height of the frame's band with the text, an odd number. 0 without a frame."""
        return 2 * (self.modules // 10) + 1 if self.has_frame else 0

    @property
    def border(self) -> int:
        return 1 if self.has_frame else 0

    @property
    def side(self) -> int:
        """Of the image."""
        return self.border + self.margin + self.modules + self.margin + self.band

    @property
    def code(self) -> Module:
        """The left top of the code."""
        return (self.side - self.modules) // 2, self.border + self.margin

    @property
    def text_middle(self) -> tuple[float, float]:
        """Of the frame's text."""
        return self.side / 2, self.side - self.band / 2

    @property
    def text_size(self) -> tuple[float, float]:
        """The largest width of the frame's text, and the height of its capitals."""
        return self.side - 4, 0.45 * self.band

    @property
    def frame(self) -> tuple[Box, Box]:
        """The frame in the foreground, of which the second box is cut out. Their corners are round."""
        inner = self.side - self.border - self.band
        return Box(0, 0, self.side, self.side), Box(1, 1, self.side - 2, inner)

    @property
    def logo_box(self) -> Box:
        width, height = _logo_modules(self.modules, self.logo_size, self.logo)
        left, top = self.code
        return Box(left + (self.modules - width) / 2, top + (self.modules - height) / 2, width, height)

    @property
    def logo_ground(self) -> Box:
        """What is filled behind a logo that would be invisible otherwise."""
        left, top, width, height = self.logo_box
        return Box(left - _CLEAR / 2, top - _CLEAR / 2, width + _CLEAR, height + _CLEAR)

    @property
    def hidden(self) -> Iterator[Module]:
        """The modules of the code that are left out for the logo, counted from its left top."""
        return _covered(self.modules, _ground(self.modules, self.logo_size, self.logo)) if self.logo_size else iter(())


def lay_out(text: str, style: CodeStyle, logo: Size | None = None) -> Layout:
    """Lay out a code. `logo`: pixels of the logo, None if there is none. Raises TooLong.

    The logo is smaller than in the style if that would hide too much, and left out where nothing holds.
    """
    chosen = _choose(len(text.encode()), style.level, style.logo_size if style.logo else 0.0, logo)
    version, level, size, clear_size = chosen
    has_frame = style.frame != "none"
    margin = max(style.margin, _FRAME_MARGIN) if has_frame else style.margin
    return Layout(version, level, margin, size, logo or (1, 1), has_frame, clear_size)


@lru_cache(1_024)
def _choose(
    count: int, level: ErrorCorrection, logo_size: float, logo: Size | None
) -> tuple[int, ErrorCorrection, float, float]:
    """Return version, level, size of the logo, and that of a smaller one that hides no alignment pattern."""
    found = _find_sizes(count, level, logo_size, logo) if logo else iter(())
    if first := next(found, None):
        is_clear = first[0] < _CENTERED_FROM
        clear_size = 0.0 if is_clear else next((size for version, _, size in found if version < _CENTERED_FROM), 0.0)
        return *first, clear_size
    for version in range(1, _LAST_VERSION + 1):
        if _fits(count, version, level):
            return version, level, 0.0, 0.0
    raise TooLong


def _find_sizes(
    count: int, level: ErrorCorrection, logo_size: float, logo: Size
) -> Iterator[tuple[int, ErrorCorrection, float]]:
    """Yield each size of the logo that holds, the largest first, with the lowest version in which it does."""
    levels = _LEVELS[_LEVELS.index(level) :][::-1]  # the highest one costs nothing
    for size in _sizes(logo_size):
        for version, raised in product(range(1, MAX_LOGO_VERSION + 1), levels):
            ground = _ground(17 + 4 * version, size, logo)
            if _fits(count, version, raised) and _holds(version, raised, ground):
                yield version, raised, size
                break


def _sizes(size: float) -> Iterator[float]:
    """Yield the size and smaller ones; none for 0."""
    if size:
        yield size
    for hundredths in range(ceil(100 * size - 1e-9) - 1, round(100 * MIN_LOGO_SIZE) - 1, -1):
        yield hundredths / 100


def _fits(count: int, version: int, level: ErrorCorrection) -> bool:
    """Whether a text of so many bytes fits."""
    tables = _tables()
    bits: int = tables.SYMBOL_CAPACITY[version][tables.ERROR_MAPPING[level]]
    return 4 + (8 if version < _LONG_FROM else 16) + 8 * count <= bits


def _logo_modules(modules: int, size: float, logo: Size) -> tuple[float, float]:
    """Return width and height of the logo. Its longer side has the size."""
    longer = max(logo)
    return size * modules * logo[0] / longer, size * modules * logo[1] / longer


def _ground(modules: int, size: float, logo: Size) -> Size:
    width, height = _logo_modules(modules, size, logo)
    return _odd(width), _odd(height)


def _odd(logo: float) -> int:
    """Return the modules for one side of a logo: an odd number, as a code has, so that the ground is in its middle."""
    return max(_ALIGNMENT, 2 * ceil((logo + 2 * _CLEAR - 1) / 2 - 1e-9) + 1)


def _covered(modules: int, ground: Size) -> Iterator[Module]:
    left, top = ((modules - side) // 2 for side in ground)
    return ((x, y) for x in range(left, left + ground[0]) for y in range(top, top + ground[1]))


@lru_cache(4_096)
def _holds(version: int, level: ErrorCorrection, ground: Size) -> bool:
    """Whether no block loses more than half of what it can restore, and no pattern is hidden but one in the middle.

    Readers can do without that one, but some take parts of a logo for it: it is hidden only where a URL needs so many
    modules, and a warning says so.
    """
    middle = 8 + 2 * version
    codewords, blocks = _codewords(version), _blocks(version, level)
    hidden = set()
    for module in _covered(17 + 4 * version, ground):
        if module in codewords:
            hidden.add(codewords[module])
        elif version < _CENTERED_FROM or max(abs(module[0] - middle), abs(module[1] - middle)) > _ALIGNMENT // 2:
            return False
    lost = Counter(blocks[codeword] for codeword in hidden if codeword < len(blocks))
    return all(count <= restored // 2 for (_, restored), count in lost.items())


@cache
def _blocks(version: int, level: ErrorCorrection) -> Sequence[tuple[int, int]]:
    """Return for each codeword of the interleaved ones the number of its block, and how many that block restores.

    Codewords of data come first: the first of each block, then the second, and so on. Shorter blocks end earlier. Those
    of error correction follow in the same way; two of them restore one codeword.
    """
    tables = _tables()
    kinds: Sequence[Any] = tables.ECC[version][tables.ERROR_MAPPING[level]]
    blocks = [kind for kind in kinds for _ in range(kind.num_blocks)]
    numbers = [(number, (kind.num_total - kind.num_data) // 2) for number, kind in enumerate(blocks)]
    data, total = [kind.num_data for kind in blocks], [kind.num_total for kind in blocks]
    corrections = [end - start for start, end in zip(data, total, strict=True)]
    return [
        number
        for counts in (data, corrections)
        for index in range(max(counts))
        for number, count in zip(numbers, counts, strict=True)
        if index < count
    ]


@cache
def _codewords(version: int) -> dict[Module, int]:
    """Return the number of the codeword in each module, for those that are in none of the patterns.

    Bits run in columns two modules wide, up and down in turn, from the right. The left column is the timing pattern.
    """
    modules, patterns = 17 + 4 * version, _patterns(version)
    places: list[Module] = []
    for number, right in enumerate([*range(modules - 1, 6, -2), 5, 3, 1]):
        rows = range(modules) if number % 2 else range(modules - 1, -1, -1)
        places += [module for y in rows for module in ((right, y), (right - 1, y)) if module not in patterns]
    return {module: bit // 8 for bit, module in enumerate(places)}


def _patterns(version: int) -> set[Module]:
    """Return the modules of finders, timing and alignment patterns, and those that say the format or version."""
    modules, far = 17 + 4 * version, 9 + 4 * version
    boxes = [(0, 0, 9, 9), (far, 0, 8, 9), (0, far, 9, 8), (6, 0, 1, modules), (0, 6, modules, 1)]
    if version >= _VERSION_FROM:
        boxes += [(far - 3, 0, 3, 6), (0, far - 3, 6, 3)]
    middles = _alignment(version)
    boxes += [
        (x - 2, y - 2, _ALIGNMENT, _ALIGNMENT)
        for x in middles
        for y in middles
        if (x, y) not in {(6, 6), (6, middles[-1]), (middles[-1], 6)}
    ]
    return {
        (x, y)
        for left, top, width, height in boxes
        for x in range(left, left + width)
        for y in range(top, top + height)
    }


def _alignment(version: int) -> Sequence[int]:
    """Return rows and columns of the middles of alignment patterns."""
    middles: Sequence[int] = _tables().ALIGNMENT_POS[version - 2] if version > 1 else ()
    return middles


def _tables() -> Any:
    """Return the tables of the standard."""
    from segno import consts  # noqa: PLC0415  # 1 MB, which the worker and an idle process do without

    return consts
