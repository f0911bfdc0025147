"""Notifies every process of this machine of changed slugs, pixels and hosts, in a memory-mapped ring file.

A writer publishes after its commit and before it answers, so the next redirect of any process sees the change. Checking
for changes costs one comparison of integers. Other machines are notified through the database.
"""

import fcntl
import mmap
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

_HEAD = 8
_RING = 1 << 18

InvalidateRoutes = Callable[[Sequence[str]], None]
"""`ChangeFeed.publish`: invalidate routes on this machine by slugs, host names, `host_change`s and `pixel_change`s."""


class ChangeFeed:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.posix_fallocate(self._fd, 0, _HEAD + _RING)  # writing to a hole on a full disk would kill the process
        self._map = mmap.mmap(self._fd, _HEAD + _RING)
        self.head = memoryview(self._map)[:_HEAD].cast("Q")
        """`head[0]`: bytes ever published. A reader whose position differs has changes to read."""

    def publish(self, slugs: Iterable[str]) -> None:
        """Returns once every process of this machine can see the changes."""
        changes = b"".join(slug.encode() + b"\n" for slug in slugs)
        fcntl.flock(self._fd, fcntl.LOCK_EX)  # held for microseconds; the kernel releases it if we die
        try:
            start = self.head[0]
            if len(changes) <= _RING:  # with more than that, every reader sees that it missed some
                self._write(start % _RING, changes)
            self.head[0] = start + len(changes)  # last: readers must not see half a change
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def since(self, seen: int) -> tuple[int, list[bytes] | None]:
        """(new position, slugs changed since `seen`). None in place of the slugs: some changes were missed."""
        head = self.head[0]
        changes = self._read(seen % _RING, head - seen) if 0 <= head - seen <= _RING else None
        if changes is None or self.head[0] - seen > _RING:  # the second: overwritten while it was read
            return head, None
        return head, changes.split(b"\n")[:-1]

    def _write(self, at: int, changes: bytes) -> None:
        to_end = changes[: _RING - at]
        self._map[_HEAD + at : _HEAD + at + len(to_end)] = to_end
        self._map[_HEAD : _HEAD + len(changes) - len(to_end)] = changes[len(to_end) :]

    def _read(self, at: int, count: int) -> bytes:
        to_end = min(count, _RING - at)
        return self._map[_HEAD + at : _HEAD + at + to_end] + self._map[_HEAD : _HEAD + count - to_end]

    def close(self) -> None:
        self.head.release()
        self._map.close()
        os.close(self._fd)
