"""Slots in a file that all processes of this machine share, each of a key: what a limiter counts.

A key may use several neighboring slots, which are locked together. The system releases a lock when its holder dies. A
holder that is stopped keeps it: then these slots are unavailable after a moment, and all others can be used.
"""

import asyncio
import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from waypost.kit.errors import Unavailable

KEY_SIZE = 16
"""Bytes. A slot begins with its key, which ends with random bytes. Zeros: it is unused."""
_UNUSED = bytes(KEY_SIZE)
_NEIGHBORS = 8
_FIRST_WAIT, _LAST_WAIT, _GROWTH = 0.0005, 0.2, 1.3
"""Seconds between attempts to lock slots: a second in total."""


class SlotFile:
    """For one event loop: locks belong to the process."""

    def __init__(self, path: Path, *, count: int, size: int) -> None:
        """`size`: bytes of a slot."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._count = count
        self._size = size

    async def lock(self, key: bytes) -> "LockedSlots":
        """Return the slots of a key, for `with`, inside of which nothing is awaited. Raises Unavailable."""
        start = int.from_bytes(key[-4:]) % self._count * self._size
        slots = LockedSlots(self._file, key, start, self._size)
        wait = _FIRST_WAIT
        while not slots.try_lock():
            if wait > _LAST_WAIT:
                raise Unavailable
            await asyncio.sleep(wait)
            wait *= _GROWTH
        return slots

    def close(self) -> None:
        os.close(self._file)


@dataclass(frozen=True, slots=True)
class LockedSlots:
    """Raises Unavailable in place of an OSError, such as that of a full disk."""

    file: int
    key: bytes
    start: int
    size: int

    def try_lock(self) -> bool:
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, self.size * _NEIGHBORS, self.start)
        except BlockingIOError:
            return False
        except OSError as error:
            raise Unavailable from error
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: object, __: object) -> None:
        fcntl.lockf(self.file, fcntl.LOCK_UN, self.size * _NEIGHBORS, self.start)
        if isinstance(error, OSError):
            raise Unavailable from error

    def find(self, last_use: Callable[[bytes], int]) -> tuple[int, bytes | None]:
        """Return the offset of the key's slot, and its content. Without one: an unused slot or that whose last use is
        longest ago, and None.
        """
        size = self.size * _NEIGHBORS
        content = os.pread(self.file, size, self.start).ljust(size, b"\0")
        starts = range(0, size, self.size)
        for start in starts:
            if content.startswith(self.key, start):
                return self.start + start, content[start : start + self.size]
        for start in starts:
            if content.startswith(_UNUSED, start):  # most are: comparing uses took as long as all the rest
                return self.start + start, None
        return self.start + min(starts, key=lambda start: last_use(content[start : start + self.size])), None

    def write(self, offset: int, content: bytes) -> None:
        os.pwrite(self.file, content, offset)
