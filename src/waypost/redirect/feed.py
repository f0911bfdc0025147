"""Tells every process of this machine which slugs, pixels and hosts changed: a ring of bytes in a memory-mapped file.

A writer publishes after its commit and before it answers, so the next redirect, in whatever process, sees the change.
Asking whether there is news costs one comparison of integers. Other machines are told through the database.
"""

import fcntl
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

_HEAD = 8
_RING = 1 << 18


class ChangeFeed:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.posix_fallocate(self._fd, 0, _HEAD + _RING)  # a hole, written to on a full disk, would kill the process
        self._map = mmap.mmap(self._fd, _HEAD + _RING)
        self.head = memoryview(self._map)[:_HEAD].cast("Q")
        """`head[0]`: bytes ever published. A reader that has seen another number has news to read."""

    def publish(self, slugs: Iterable[str]) -> None:
        """Returns once every process of this machine can see the change."""
        news = b"".join(slug.encode() + b"\n" for slug in slugs)
        fcntl.flock(self._fd, fcntl.LOCK_EX)  # held for microseconds; the kernel lets go if we die
        try:
            start = self.head[0]
            if len(news) <= _RING:  # of more than that every reader will be told that it missed some
                self._write(start % _RING, news)
            self.head[0] = start + len(news)  # last: what is half-written is not there yet
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def since(self, seen: int) -> tuple[int, list[bytes] | None]:
        """(new position, slugs changed since `seen`), or None for the slugs when too much was missed to tell."""
        head = self.head[0]
        news = self._read(seen % _RING, head - seen) if 0 <= head - seen <= _RING else None
        if news is None or self.head[0] - seen > _RING:  # the second: overwritten while it was read
            return head, None
        return head, news.split(b"\n")[:-1]

    def _write(self, at: int, news: bytes) -> None:
        to_end = news[: _RING - at]
        self._map[_HEAD + at : _HEAD + at + len(to_end)] = to_end
        self._map[_HEAD : _HEAD + len(news) - len(to_end)] = news[len(to_end) :]

    def _read(self, at: int, count: int) -> bytes:
        to_end = min(count, _RING - at)
        return self._map[_HEAD + at : _HEAD + at + to_end] + self._map[_HEAD : _HEAD + count - to_end]

    def close(self) -> None:
        self.head.release()
        self._map.close()
        os.close(self._fd)
