"""Drawing a code of 512 pixels and level M, its modules worked out anew each time, beside segno's own plain drawing.

One thread on one core, in alternating rounds; judged by the median. The link has thirty characters.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import get_args

import segno

from bench.client import percentile
from bench.report import Row, at_most
from bench.run import Run
from bench.scanning import TEXT
from waypost.resources.qrcodes.drawing import matrix_of, png, svg
from waypost.resources.qrcodes.look import Look, Style

_UNTIMED = 5
_BOUNDS = {"png": (8, 8), "svg": (4, 12)}
"""Milliseconds and kilobytes."""

Draw = Callable[[], bytes]


def measure(run: Run) -> list[Row]:
    return [row for format_ in _BOUNDS for style in get_args(Style) for row in _rows(run, format_, style)]


def _rows(run: Run, format_: str, style: Style) -> list[Row]:
    draw = partial({"png": png, "svg": svg}[format_], TEXT, Look(style=style))
    ours, theirs = _times(run, draw, partial(_drawn_by_segno, format_))
    (milliseconds, kilobytes), plain = _BOUNDS[format_], len(_drawn_by_segno(format_)) / 1024
    detail = (
        f"p95 {percentile(ours, 95):.1f} ms over {len(ours)} drawings; "
        f"segno's own plain one {statistics.median(theirs):.1f} ms, p95 {percentile(theirs, 95):.1f} ms"
    )
    what = f"drawing {style} as {format_.upper()}"
    return [
        at_most(f"{what}, median", statistics.median(ours), milliseconds, detail, " ms"),
        at_most(f"{what}, size", len(draw()) / 1024, kilobytes, f"segno's own {plain:.2f} KB", " KB"),
    ]


def _times(run: Run, *draws: Draw) -> list[list[float]]:
    """Of each one's drawings, in milliseconds. They take turns, one drawing each."""
    times: list[list[float]] = [[] for _ in draws]
    for number in range(_UNTIMED + run.drawings):
        for draw, own in zip(draws, times, strict=True):
            matrix_of.cache_clear()
            began = time.perf_counter()
            draw()
            if number >= _UNTIMED:
                own.append((time.perf_counter() - began) * 1000)
    return times


def _drawn_by_segno(format_: str) -> bytes:
    made, file = segno.make(TEXT, error="M", micro=False, boost_error=False), BytesIO()
    made.save(file, format_, scale=512 // made.symbol_size()[0])
    return file.getvalue()
