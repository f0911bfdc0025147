"""The picture of a report: a bar for each day. In twice the size that it is shown with, on a transparent ground.

Its colors can be read on white and on black, because emails have the ground that the program of the reader gives them.
"""

from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from waypost.kit.preferences import Preferences

WIDTH, HEIGHT = 552, 210
"""As it is shown, in CSS pixels."""

_SCALE = 2
_BAR = (18, 150, 138, 255)
_LABEL = (123, 132, 130, 255)
_LINE = (128, 136, 134, 70)
_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 26, 4, 30
_FONT_SIZE = 16
MAX_LABELLED = 7
"""Bars that have their number above, and each a label below."""
_STEPS = (1, 2, 5)
_MAX_LINES = 4


def draw(values: Sequence[int], labels: Sequence[str], preferences: Preferences) -> bytes:
    """Return a PNG file. `labels`: below the bars; some of many, and an empty one is left out."""
    image = Image.new("RGBA", (WIDTH * _SCALE, HEIGHT * _SCALE), (0, 0, 0, 0))
    canvas = ImageDraw.Draw(image)
    font = ImageFont.load_default(_FONT_SIZE * _SCALE)
    step = _step(max(values))
    top = -(-max(values) // step) * step
    height = HEIGHT - _TOP - _BOTTOM

    def y(value: float) -> float:
        return (_TOP + height * (1 - value / top)) * _SCALE

    for value in range(0, top + 1, step):
        canvas.line((_LEFT * _SCALE, y(value), (WIDTH - _RIGHT) * _SCALE, y(value)), _LINE, _SCALE)
        canvas.text(((_LEFT - 8) * _SCALE, y(value)), preferences.short(value), _LABEL, font, anchor="rm")
    slot = (WIDTH - _LEFT - _RIGHT) * _SCALE / len(values)
    is_labelled = len(values) <= MAX_LABELLED
    for index, (value, label) in enumerate(zip(values, labels, strict=True)):
        left = _LEFT * _SCALE + index * slot
        gap = slot * (0.24 if is_labelled else 0.15)
        if value:
            bar = (round(left + gap), round(min(y(value), y(0) - _SCALE)), round(left + slot - gap), round(y(0)))
            canvas.rounded_rectangle(bar, 3 * _SCALE, _BAR, corners=(True, True, False, False))
        if is_labelled:
            canvas.text((left + slot / 2, y(value) - 4 * _SCALE), preferences.number(value), _LABEL, font, anchor="mb")
        canvas.text((left + slot / 2, (HEIGHT - 4) * _SCALE), label, _LABEL, font, anchor="mb")
    file = BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def _step(most: int) -> int:
    """Return the distance of the lines: the smallest round number with which there are few."""
    power = 1
    while True:
        for each in _STEPS:
            if -(-most // (each * power)) <= _MAX_LINES:
                return each * power
        power *= 10
