"""Notifies every process of this machine of changed slugs, pixels and hosts, in a memory-mapped ring file.

A writer publishes after its commit and before it responds, so the next redirect of any process sees it. Checking
for changes costs one comparison of integers. Other machines are notified through the database.
"""

import fcntl
import mmap
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from waypost.kit.file_locks import try_lock

_COUNTER_SIZE = 8
_RING_SIZE = 1 << 18
_LOCK_TIMEOUT = 0.05  # seconds to lock the file, which a running process holds for microseconds

InvalidateRoutes = Callable[[Sequence[str]], None]
"""`ChangeFeed.publish`: invalidate routes on this machine by slugs, host names, `host_change`s and `pixel_change`s."""


class ChangeFeed:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.posix_fallocate(
            self._fd, 0, _COUNTER_SIZE + _RING_SIZE
        )  # writing to a hole on a full disk would kill the process
        self._map = mmap.mmap(self._fd, _COUNTER_SIZE + _RING_SIZE)
        self.published_bytes = memoryview(self._map)[:_COUNTER_SIZE].cast("Q")
        """`published_bytes[0]`: all bytes ever published. A reader whose position differs has changes to read."""
        self._lock_timeout = _LOCK_TIMEOUT

    def publish(self, slugs: Iterable[str]) -> None:
        """Publish changes. When it returns, every process of this machine can see them."""
        changes = b"".join(slug.encode() + b"\n" for slug in slugs)
        if not self._lock():
            # more than the ring holds, so that every reader sees that it missed some; others may do the same now
            self.published_bytes[0] += (_RING_SIZE + 1) * int.from_bytes(b"\1" + os.urandom(2))
            return
        try:
            start = self.published_bytes[0]
            if len(changes) <= _RING_SIZE:  # with more than that, every reader sees that it missed some
                self._write(start % _RING_SIZE, changes)
            self.published_bytes[0] = start + len(changes)  # last: readers must not see half a change
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def since(self, seen: int) -> tuple[int, list[bytes] | None]:
        """Return (new position, slugs changed since `seen`). None in place of the slugs: some changes were missed."""
        end = self.published_bytes[0]
        changes = self._read(seen % _RING_SIZE, end - seen) if 0 <= end - seen <= _RING_SIZE else None
        if changes is None or self.published_bytes[0] - seen > _RING_SIZE:  # the second: overwritten while it was read
            return end, None
        return end, changes.split(b"\n")[:-1]

    def _lock(self) -> bool:
        """Return whether the file is locked now. Only a stopped process holds it for long; the next change waits not.

        What that process writes when it continues may replace what others publish meanwhile without the lock. Then
        readers learn of their changes from the database, as after a crash.
        """
        is_locked = try_lock(self._fd, fcntl.LOCK_EX, seconds=self._lock_timeout)
        self._lock_timeout = _LOCK_TIMEOUT if is_locked else 0.0
        return is_locked

    def _write(self, at: int, changes: bytes) -> None:
        to_end = changes[: _RING_SIZE - at]
        self._map[_COUNTER_SIZE + at : _COUNTER_SIZE + at + len(to_end)] = to_end
        self._map[_COUNTER_SIZE : _COUNTER_SIZE + len(changes) - len(to_end)] = changes[len(to_end) :]

    def _read(self, at: int, count: int) -> bytes:
        to_end = min(count, _RING_SIZE - at)
        return (
            self._map[_COUNTER_SIZE + at : _COUNTER_SIZE + at + to_end]
            + self._map[_COUNTER_SIZE : _COUNTER_SIZE + count - to_end]
        )

    def close(self) -> None:
        self.published_bytes.release()
        self._map.close()
        os.close(self._fd)
