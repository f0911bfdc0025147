"""Locks of files, with a limit on the wait: a process that is stopped keeps its lock."""

import contextlib
import fcntl
import time

_INTERVAL = 0.001  # seconds


def try_lock(file: int, operation: int, *, seconds: float) -> bool:
    """Return whether the file is locked now. Try for some seconds, at least once.

    `operation`: that of `flock`. The system releases the lock when this process dies.
    """
    ends_at = time.monotonic() + seconds
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, operation | fcntl.LOCK_NB)
            return True
        if time.monotonic() >= ends_at:
            return False
        time.sleep(_INTERVAL)
