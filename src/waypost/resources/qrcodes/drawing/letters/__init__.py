"""The text of a frame as outlines, so that an image needs no font. Its letters are made by `scripts/make-letters`."""

import lzma
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from waypost.resources.qrcodes.layout import Layout

_FILE = Path(__file__).with_name("letters.txt.xz")
_CAP_HEIGHT = 728
"""Of a thousand units, which are the size of the font."""

Outline = Sequence[tuple[float, float]]
"""Corners of a closed shape. In a letter, the inside of a shape is on its right; that of a hole on its left."""


@cache
def _letters() -> dict[str, str]:
    lines = lzma.decompress(_FILE.read_bytes()).decode().splitlines()
    return {line[0]: line[1:] for line in lines}


def find_unknown(text: str) -> list[str]:
    """Return the characters of the text that cannot be drawn."""
    return [char for char in dict.fromkeys(text) if char not in _letters()]


def outlines(text: str, layout: Layout) -> Iterator[Outline]:
    """Yield the outlines of the text of a frame, in modules. Long text is smaller."""
    (middle_x, middle_y), (width, cap_height) = layout.text_middle, layout.text_size
    letters = [_letters()[char].split(";") for char in text if char in _letters()]
    units = sum(int(advance) for advance, *_ in letters) or 1
    scale = min(cap_height / _CAP_HEIGHT, width / units)
    pen_x, base_y = middle_x - units * scale / 2, middle_y + _CAP_HEIGHT * scale / 2
    for advance, *shapes in letters:
        for shape in shapes:
            x = y = 0
            corners = []
            for step in shape.split(","):
                dx, dy = map(int, step.split(" "))
                x, y = x + dx, y + dy
                corners.append((pen_x + x * scale, base_y - y * scale))
            yield corners
        pen_x += int(advance) * scale
