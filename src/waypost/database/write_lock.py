"""The lock of all processes that write to one SQLite database. The kernel wakes waiting writers in order.

SQLite itself polls every tenth of a second, which mostly comes too late while another process writes batch after
batch. SQLite's own lock still separates writers: without this file, writers wait longer, but no data is lost.
"""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

from waypost.kit.errors import Unavailable

TIMEOUT = 10.0  # seconds


class WriteLock:
    """A lock file beside the database. The kernel releases it when a process dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._task_lock = asyncio.Lock()  # between tasks: the file's lock belongs to the process
        self.waiting = 0
        """Number of callers of `acquire` that do not have the lock yet."""

    @contextlib.asynccontextmanager
    async def acquire(self) -> AsyncIterator[None]:
        """Hold the lock during the block. Raises Unavailable after 10 s, when another process hangs with it."""
        self.waiting += 1
        try:
            await self._acquire()
        finally:
            self.waiting -= 1
        try:
            yield
        finally:
            self._release()

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    async def _acquire(self) -> None:
        await with_timeout(self._task_lock.acquire())
        try:
            await with_timeout(self._acquire_file())
        except BaseException:
            self._release()
            raise

    async def _acquire_file(self) -> None:
        if self._fd is None:
            with contextlib.suppress(OSError):  # the disk is full: continue without the file
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
            waiting.add_done_callback(lambda _: self._release_file())  # the caller was cancelled
            raise

    def _release(self) -> None:
        self._release_file()
        self._task_lock.release()

    def _release_file(self) -> None:
        if self._fd is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_UN)


async def with_timeout(waiting: Awaitable[object]) -> None:
    try:
        async with asyncio.timeout(TIMEOUT):
            await waiting
    except TimeoutError as error:
        raise Unavailable("Other changes take too long to be saved. Try again in a moment.") from error
