"""Erases drained lines of the spool, and removes segments that are drained completely.

Lines contain full IP addresses, forwarding headers and referrers, of which clicks keep only what the privacy settings
allow. A segment in use or with more lines cannot be removed for that, so its drained lines are overwritten.
"""

import contextlib
import fcntl
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from waypost.redirect.segment import HEADER
from waypost.redirect.spool import UnknownFormat, is_finished, read_lines, segments

_PROBE = 1 << 16  # bytes; enough for one complete line
_BLANK = b"\n" * (64 << 10)
"""Empty lines: readers ignore them."""


@contextlib.contextmanager
def prevent_erasing(directory: Path) -> Iterator[None]:
    """Prevent erasing while lines are copied, for example by a backup."""
    with _opened(directory) as fd:
        fcntl.flock(fd, fcntl.LOCK_SH)
        yield


def erase_drained(directory: Path, positions: Mapping[str, int], erased: Mapping[str, int]) -> Mapping[str, int]:
    """Overwrite each segment up to its committed position. Return how far each is erased.

    Does nothing during `prevent_erasing`. Raises OSError.
    """
    with _opened(directory) as fd:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return erased
        for name, end in positions.items():
            with contextlib.suppress(FileNotFoundError):  # another drainer has removed it
                _erase(directory / name, max(erased.get(name, 0), len(HEADER)), end)
    return dict(positions)


def _erase(path: Path, start: int, end: int) -> None:
    if start >= end:
        return
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        while start < end:
            start += os.pwrite(fd, _BLANK[: end - start], start)
    finally:
        os.close(fd)


def remove_drained(directory: Path, positions: Mapping[str, int], unreadable: Collection[str]) -> list[str]:
    """Return the names of the removed segments."""
    removed = []
    for path in segments(directory):
        with contextlib.suppress(FileNotFoundError):  # another drainer has removed it
            if path.name not in unreadable and is_finished(path) and _is_drained(path, positions.get(path.name, 0)):
                path.unlink()
                removed.append(path.name)
    if removed:
        _sync_directory(directory)
    return removed


def _is_drained(path: Path, position: int) -> bool:
    """Whether a finished segment has no more lines."""
    try:
        return not read_lines(path, position, _PROBE)[0]
    except UnknownFormat:
        return False


def _sync_directory(directory: Path) -> None:
    """Prevent that a crash of the machine brings the files back after their positions are deleted."""
    with _opened(directory) as fd:
        os.fsync(fd)


@contextlib.contextmanager
def _opened(directory: Path) -> Iterator[int]:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)
