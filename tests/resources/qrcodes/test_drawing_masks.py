"""The mask is the one that the standard's four penalties favour, counted here module by module."""

from itertools import groupby, product
from random import Random
from typing import get_args

import pytest
import segno
from hypothesis import given
from hypothesis import strategies as st

from waypost.resources.qrcodes.drawing import matrix
from waypost.resources.qrcodes.style import ErrorCorrection

Rows = list[tuple[int, ...]]

FINDER = (1, 0, 1, 1, 1, 0, 1)
FALSE_FINDERS = ((0, 0, 0, 0, *FINDER), (*FINDER, 0, 0, 0, 0))


def penalty(rows: Rows) -> int:
    size, lines = len(rows), [*rows, *zip(*rows, strict=True)]
    runs = [len(list(run)) for line in lines for _, run in groupby(line)]
    windows = [tuple(line[at : at + 11]) for line in lines for at in range(size - 10)]
    blocks = [
        {rows[y + dy][x + dx] for dy, dx in product((0, 1), repeat=2)} for y, x in product(range(size - 1), repeat=2)
    ]
    percent = 100 * sum(map(sum, rows)) / size**2
    return (
        sum(3 + length - 5 for length in runs if length >= 5)
        + 3 * sum(len(colors) == 1 for colors in blocks)
        + 40 * sum(window in FALSE_FINDERS for window in windows)
        + 10 * int(abs(percent - 50) / 5)
    )


@given(size=st.integers(11, 45), share=st.sampled_from([0.02, 0.3, 0.5, 0.9]), seed=st.integers(0, 2**32))
def test_the_penalty_is_that_of_the_standard(size: int, share: float, seed: int) -> None:
    chance = Random(seed)
    rows = [tuple(int(chance.random() < share) for _ in range(size)) for _ in range(size)]
    rows[chance.randrange(size)] = (*FALSE_FINDERS[seed % 2], *[1] * (size - 11))
    down = list(zip(*rows, strict=True))
    assert matrix._penalty(matrix._to_integer(rows), matrix._to_integer(down), size) == penalty(rows)


@pytest.mark.parametrize("text", [f"https://go.example/{'way' * times}?r=qr" for times in (0, 1, 3, 8, 40)])
@pytest.mark.parametrize("level", get_args(ErrorCorrection))
def test_the_mask_is_the_best_one(text: str, level: ErrorCorrection) -> None:
    made = [segno.make(text, error=level, mask=mask, micro=False, boost_error=False).matrix for mask in range(8)]
    best = min(made, key=lambda rows: penalty(list(map(tuple, rows))))
    assert matrix.make_matrix(text, level).rows == tuple(map(bytes, best))
