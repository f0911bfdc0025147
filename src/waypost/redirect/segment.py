"""A file of the spool while it is written: lines are appended whole, and on a full disk undone to the last whole one.

It holds a lock, so that whoever reads can tell a file in use from a finished one.
"""

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path
from typing import Self

from uuid_utils import uuid7

HEADER = b"waypost-spool 2\n"
HEADER_1 = b"waypost-spool 1\n"  # of equal length; its lines have no pixels
SUFFIX = ".visits"
_UNNAMED = ".new"
_STALE = 60.0  # seconds; between making a file and locking it lie microseconds


class Segment:
    """`append` is one thread's at a time. `sync` may run beside it in another, `close` after it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.size = len(HEADER)
        self._torn = b""  # or the end of a line that could not be undone
        self._is_dirty = True

    @classmethod
    def open(cls, directory: Path) -> Self:
        """A new one, visible once it is locked: what is not locked counts as finished. Raises OSError."""
        path = directory / f"{uuid7()}{SUFFIX}"
        unnamed = path.with_suffix(_UNNAMED)
        fd = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.write(fd, HEADER) < len(HEADER):
                raise _disk_full()
            unnamed.rename(path)
        except OSError:
            os.close(fd)
            with contextlib.suppress(OSError):
                unnamed.unlink()
            raise
        return cls(fd)

    def append(self, lines: bytes) -> tuple[int, OSError | None]:
        """How many of the lines did not get in, and why."""
        data = self._torn + lines
        try:
            written = os.write(self._fd, data)
        except OSError as error:
            return lines.count(b"\n"), error
        self.size += written
        self._is_dirty = True
        if written == len(data):
            self._torn = b""
            return 0, None
        whole = data.rfind(b"\n", 0, written) + 1  # what was whole may have been read already: it stays
        self._undo(written - whole)
        return data.count(b"\n", whole), _disk_full()

    def sync(self) -> None:
        """To the disk. Raises OSError."""
        if self._is_dirty:
            self._is_dirty = False  # first: what is appended meanwhile waits for the next time
            os.fdatasync(self._fd)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # nobody is left to wait for a better disk
            os.fsync(self._fd)
        os.close(self._fd)

    def _undo(self, count: int) -> None:
        self._torn = b""
        try:
            if count:
                os.ftruncate(self._fd, self.size - count)
                self.size -= count
        except OSError:
            self._torn = b"\n"  # ends the torn line before the next one begins


def sweep(directory: Path) -> None:
    """Removes what a writer left behind that died before its segment had a name."""
    for path in directory.glob(f"*{_UNNAMED}"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < time.time() - _STALE:
                path.unlink()


def _disk_full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
