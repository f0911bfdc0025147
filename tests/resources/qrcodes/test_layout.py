"""How much of a code a logo hides is counted in the blocks of the standard, and no block loses more than half."""

from collections import defaultdict
from itertools import combinations, product
from typing import get_args

import pytest
import segno
from segno import consts

from waypost.resources.qrcodes import layout
from waypost.resources.qrcodes.layout import MAX_LOGO_VERSION, Size, lay_out
from waypost.resources.qrcodes.style import CodeStyle, ErrorCorrection

LEVELS = get_args(ErrorCorrection)
TEXT = "https://go.example/spring?r=qr"
LONGEST = f"https://{'a' * 30}.example/{'b' * 25}?r=qr"  # a short URL of 64 characters
MASKS = (
    lambda x, y: (x + y) % 2,
    lambda _, y: y % 2,
    lambda x, _: x % 3,
    lambda x, y: (x + y) % 3,
    lambda x, y: (y // 2 + x // 3) % 2,
    lambda x, y: x * y % 2 + x * y % 3,
    lambda x, y: (x * y % 2 + x * y % 3) % 2,
    lambda x, y: ((x + y) % 2 + x * y % 3) % 2,
)


@pytest.mark.parametrize("version", range(1, MAX_LOGO_VERSION + 1))
@pytest.mark.parametrize("level", LEVELS)
def test_finds_the_codewords_of_each_block(version: int, level: ErrorCorrection) -> None:
    """Codewords in the wrong order or block are no codewords of the standard's Reed-Solomon code."""
    code = segno.make("Waypost", version=version, error=level, mask=5, boost_error=False, mode="byte")
    bits: dict[int, list[int]] = defaultdict(list)
    for (x, y), codeword in layout._codewords(version).items():
        bits[codeword].append(code.matrix[y][x] ^ (not MASKS[5](x, y)))
    blocks: dict[int, list[int]] = defaultdict(list)
    restored = {}
    for codeword, (block, count) in enumerate(layout._blocks(version, level)):
        blocks[block].append(int("".join(map(str, bits[codeword])), 2))
        restored[block] = count
    remainder = [values for codeword, values in bits.items() if codeword >= len(layout._blocks(version, level))]
    assert sum(map(len, remainder)) < 8
    for block, codewords in blocks.items():
        for power in range(2 * restored[block]):
            syndrome = 0
            for codeword in codewords:
                syndrome = times(syndrome, consts.GALIOS_EXP[power]) ^ codeword
            assert syndrome == 0, (block, power)


def times(one: int, other: int) -> int:
    if not one or not other:
        return 0
    return consts.GALIOS_EXP[(consts.GALIOS_LOG[one] + consts.GALIOS_LOG[other]) % 255]


@pytest.mark.parametrize("logo", [(1, 1), (4, 1), (1, 4), (40, 1)])
def test_no_block_loses_more_than_half(logo: Size) -> None:
    for size, level in product((0.1, 0.15, 0.22, 0.26, 0.3), LEVELS):
        found = lay_out(TEXT, CodeStyle(logo=True, logo_size=size, level=level), logo)
        codewords, blocks = layout._codewords(found.version), layout._blocks(found.version, found.level)
        lost: dict[int, set[int]] = defaultdict(set)
        restored = {}
        for module in found.hidden:
            if module in codewords and codewords[module] < len(blocks):
                block, restored[block] = blocks[codewords[module]]
                lost[block].add(codewords[module])
        assert lost
        assert all(len(each) <= restored[block] // 2 for block, each in lost.items())
        assert LEVELS.index(found.level) >= LEVELS.index(level)
        box, (left, top) = found.logo_box, found.code
        columns, rows = ({each[axis] for each in found.hidden} for axis in (0, 1))
        assert min(columns) + left + 1 <= box.left + 1e-9
        assert box.left + box.width <= max(columns) + left + 1e-9
        assert min(rows) + top + 1 <= box.top + 1e-9
        assert box.top + box.height <= max(rows) + top + 1e-9


def test_hides_no_pattern_but_that_in_the_middle() -> None:
    for version, (width, height) in product(range(1, MAX_LOGO_VERSION + 1), product(range(5, 25, 2), repeat=2)):
        if layout._holds(version, "H", (width, height)):
            middle = 8 + 2 * version
            hidden = layout._covered(17 + 4 * version, (width, height))
            patterns = [module for module in hidden if module not in layout._codewords(version)]
            assert all(max(abs(x - middle), abs(y - middle)) <= 2 for x, y in patterns)
            assert len(patterns) == (25 if version >= 7 else 0)


def test_a_larger_logo_never_holds_where_a_smaller_one_does_not() -> None:
    sizes = [size / 100 for size in range(10, 31)]
    drawn = [lay_out(TEXT, CodeStyle(logo=True, logo_size=size), (1, 1)).logo_size for size in sizes]
    largest = drawn[-1]
    assert drawn == [min(size, largest) for size in sizes]
    assert all(one <= other for one, other in combinations(drawn, 2))
    assert 0.22 <= largest < 0.3


def test_default_logos_fit_into_codes_of_64_characters() -> None:
    assert len(LONGEST.removeprefix("https://").removesuffix("?r=qr")) == 64
    for logo in ((1, 1), (3, 1), (1, 3)):
        assert lay_out(LONGEST, CodeStyle(logo=True), logo).logo_size == 0.22


def test_a_long_url_has_no_space_for_a_logo() -> None:
    assert lay_out(TEXT + "x" * 300, CodeStyle(logo=True), (1, 1)).logo_size == 0.0
    assert lay_out(TEXT, CodeStyle(logo=True)) == lay_out(TEXT, CodeStyle())


@pytest.mark.parametrize("level", LEVELS)
def test_chooses_the_smallest_version(level: ErrorCorrection) -> None:
    longest = f"https://{'a' * 253}/{'b' * 255}?r=qr"
    for length in (8, 17, 18, 30, 32, 98, 130, 180, 230, 271, len(longest)):  # the last of version 9 among them
        text = longest[:length]
        expected = segno.make(text, error=level, micro=False, boost_error=False).version
        assert lay_out(text, CodeStyle(level=level)).version == expected, length


@pytest.mark.parametrize("version", range(1, 41, 3))
def test_a_frame_is_around_a_code_in_the_middle(version: int) -> None:
    found = layout.Layout(version, "M", 4, 0.0, (1, 1), has_frame=True)
    left, top = found.code
    assert left == found.side - left - found.modules
    outer, inner = found.frame
    assert (outer.width, outer.height) == (found.side, found.side)
    assert top - inner.top == inner.top + inner.height - top - found.modules == found.margin
    assert left - inner.left > found.margin
