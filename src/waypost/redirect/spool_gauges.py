"""The spool of this machine as metrics, read from its files: also while the worker or the database is down."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from waypost.metrics import Gauge
from waypost.redirect.segment import HEADER
from waypost.redirect.spool import decode, segments

_BLOCK = 65_536  # bytes; more than a line
_BLANK = b"\n" * _BLOCK


class SpoolGauges:
    def __init__(self, directory: Path, *, limit: int, time_ns: Callable[[], int] = time.time_ns) -> None:
        """`limit`: bytes, as of `Spool`."""
        self._directory = directory
        self._limit = limit
        self._time_ns = time_ns

    def __call__(self) -> Iterable[Gauge]:
        """Takes less than a millisecond for each segment. Call it off the event loop."""
        size = pending = 0
        oldest = None
        for path in segments(self._directory):
            try:
                with path.open("rb") as file:
                    end = file.seek(0, 2)
                    start = _find_pending(file, end)
                    at = _read_time(file, start)
            except OSError:  # the drainer has removed it
                continue
            size += end
            pending += end - start
            oldest = min(oldest or at, at) if at else oldest
        age = max(0.0, self._time_ns() / 1e9 - oldest / 1e6) if oldest else 0.0
        return [
            Gauge("waypost_spool_bytes", "Size of the spool's files.", size),
            Gauge(
                "waypost_spool_limit_bytes", "Size of the spool's files from which on visits are dropped.", self._limit
            ),
            Gauge("waypost_spool_pending_bytes", "Bytes of visits that are not in the database yet.", pending),
            Gauge(
                "waypost_spool_oldest_visit_seconds",
                "Age of the oldest visit that is not in the database yet, or 0.",
                age,
            ),
        ]


def _find_pending(file: BinaryIO, end: int) -> int:
    """Return where the drained lines end, by bisection: the drainer overwrites them with line ends, in order."""
    low, high = 0, -(-(end - len(HEADER)) // _BLOCK)  # blocks
    while low < high:
        middle = (low + high) // 2
        if _BLANK.startswith(_block(file, middle)):
            low = middle + 1
        else:
            high = middle
    block = _block(file, low)
    return min(end, len(HEADER) + low * _BLOCK + len(block) - len(block.lstrip(b"\n")))


def _block(file: BinaryIO, number: int) -> bytes:
    file.seek(len(HEADER) + number * _BLOCK)
    return file.read(_BLOCK)


def _read_time(file: BinaryIO, start: int) -> int | None:
    """Return the time of the first complete visit from `start` on, in microseconds."""
    file.seek(start)
    lines = file.read(_BLOCK).split(b"\n")[:-1]
    return next((int(visit.at) for visit in map(decode, lines) if visit), None)
