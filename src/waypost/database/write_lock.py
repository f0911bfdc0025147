"""Whose turn it is to write to SQLite, among all processes: who waits is woken, in a queue of the kernel's.

Waiting in SQLite is asking again every tenth of a second, and while another writes batch after batch, mostly too late.
SQLite's own lock is still what keeps writers apart: a turn lost to an error costs patience, not data.
"""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

from waypost.kit.errors import Unavailable

PATIENCE = 10.0  # seconds


class WriteLock:
    """A lock file beside the database. A process that dies gives up its turn."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._within = asyncio.Lock()  # of this process; the file's lock is the whole process's

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Raises Unavailable when it does not come, because whoever has it stands still."""
        await _in_time(self._within.acquire())
        try:
            await _in_time(self._take())
            yield
        finally:
            self._give()
            self._within.release()

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    async def _take(self) -> None:
        if self._fd is None:
            with contextlib.suppress(OSError):  # a full disk has no room for it: then without
                self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if self._fd is None:
            return
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        waiting = asyncio.get_running_loop().run_in_executor(None, fcntl.flock, self._fd, fcntl.LOCK_EX)
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            waiting.add_done_callback(lambda _: self._give())  # nobody is left to use it
            raise

    def _give(self) -> None:
        if self._fd is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_UN)


async def _in_time(waiting: Awaitable[object]) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            await waiting
    except TimeoutError as error:
        raise Unavailable("Another process has been writing for too long. Try again in a moment.") from error
