"""A file of the spool while it is written: appends complete lines, and truncates partial ones on a full disk.

The writer holds a lock, so that readers can distinguish a file in use from a finished one.
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
SUFFIX = ".visits"
_UNNAMED = ".new"
_STALE = 60.0  # seconds; a file is locked microseconds after it is created


class Segment:
    """One thread at a time calls `append`. Another may call `sync` concurrently. `close` comes last."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.size = len(HEADER)
        self._torn = b""  # a line end, if a partial line could not be truncated
        self._is_dirty = True

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Create a segment. It gets its name once it is locked: an unlocked one counts as finished. Raises OSError."""
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
        """Append lines. Return (number of lines lost, reason)."""
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
        complete = data.rfind(b"\n", 0, written) + 1  # complete lines stay: they may have been read already
        self._truncate(written - complete)
        return data.count(b"\n", complete), _disk_full()

    def sync(self) -> None:
        """Sync to disk. Raises OSError."""
        if self._is_dirty:
            self._is_dirty = False  # first: the next call syncs what another thread appends now
            os.fdatasync(self._fd)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # nothing can be done about it any more
            os.fsync(self._fd)
        os.close(self._fd)

    def _truncate(self, count: int) -> None:
        self._torn = b""
        try:
            if count:
                os.ftruncate(self._fd, self.size - count)
                self.size -= count
        except OSError:
            self._torn = b"\n"  # ends the partial line before the next line starts


def remove_unnamed(directory: Path) -> None:
    """Remove files of writers that died before their segment had a name."""
    for path in directory.glob(f"*{_UNNAMED}"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < time.time() - _STALE:
                path.unlink()


def _disk_full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
