"""Takes away spool segments that nobody writes to any more and that are drained to their end."""

import contextlib
import os
from collections.abc import Collection, Mapping
from pathlib import Path

from waypost.redirect.spool import UnknownFormat, is_finished, read_lines, segments

_LOOK = 1 << 16  # bytes; one whole line will do


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
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
