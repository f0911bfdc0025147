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


def width_of(text: str) -> float:
    """Return the width of the text, in heights of a capital."""
    return sum(int(_letters()[char].partition(";")[0]) for char in text if char in _letters()) / _CAP_HEIGHT


def outlines(text: str, layout: Layout) -> Iterator[Outline]:
    """Yield the outlines of the text of a frame, in modules. Long text is smaller."""
    (middle_x, middle_y), (width, capitals) = layout.text_middle, layout.text_size
    capitals = min(capitals, width / (width_of(text) or 1))
    return outlines_at(text, (middle_x - width_of(text) * capitals / 2, middle_y + capitals / 2), capitals)


def outlines_at(text: str, start: tuple[float, float], capitals: float) -> Iterator[Outline]:
    """Yield the outlines. `start`: of the base line, with y downwards. `capitals`: their height."""
    (pen_x, base_y), scale = start, capitals / _CAP_HEIGHT
    for advance, *shapes in (_letters()[char].split(";") for char in text if char in _letters()):
        for shape in shapes:
            x = y = 0
            corners = []
            for step in shape.split(","):
                dx, dy = map(int, step.split(" "))
                x, y = x + dx, y + dy
                corners.append((pen_x + x * scale, base_y - y * scale))
            yield corners
        pen_x += int(advance) * scale
