"""What becomes of the drained part of the spool: its lines are overwritten, and segments without others removed.

Lines hold whole addresses, forwarding headers and referrers, which are kept as clicks only as far as the privacy
settings allow (R32). A segment that is still written to, or has more lines to drain, cannot be removed for that.
"""

import contextlib
import fcntl
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from waypost.redirect.segment import HEADER
from waypost.redirect.spool import UnknownFormat, is_finished, read_lines, segments

_LOOK = 1 << 16  # bytes; one whole line will do
_BLANK = b"\n" * (1 << 20)
"""Empty lines, which mean nothing should they ever be read again."""


@contextlib.contextmanager
def held(directory: Path) -> Iterator[None]:
    """Meanwhile nothing is erased: for whoever copies lines that may be drained before they are copied."""
    with _opened(directory) as fd:
        fcntl.flock(fd, fcntl.LOCK_SH)
        yield


def erase_drained(directory: Path, positions: Mapping[str, int], erased: Mapping[str, int]) -> Mapping[str, int]:
    """Overwrites each segment up to its position, which must be committed. Returns how far each is erased.

    Nothing is while the spool is held: try again later. Raises OSError.
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
    """Returns the names of those that are gone, for good."""
    removed = []
    for path in segments(directory):
        with contextlib.suppress(FileNotFoundError):  # another drainer was faster
            if path.name not in unreadable and is_finished(path) and _is_drained(path, positions.get(path.name, 0)):
                path.unlink()
                removed.append(path.name)
    if removed:
        _make_it_last(directory)
    return removed


def _is_drained(path: Path, position: int) -> bool:
    """Asked of a finished segment only: of one in use, the next line could be on its way."""
    try:
        return not read_lines(path, position, _LOOK)[0]
    except UnknownFormat:
        return False


def _make_it_last(directory: Path) -> None:
    """Or the files could be back after a crash of the machine, when their positions are forgotten."""
    with _opened(directory) as fd:
        os.fsync(fd)


@contextlib.contextmanager
def _opened(directory: Path) -> Iterator[int]:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)
