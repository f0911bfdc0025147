"""Rate limits of one machine: a sliding log that all its processes share.

The log is a file of slots under a record lock, which the system releases when its holder dies. Time is the monotonic
clock, which ignores changes of the wall clock and restarts at boot, so the file is cleared after a boot.
"""

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path

from waypost.accounts.limits.limiter import RateLimiter, RateLimitResult
from waypost.kit.errors import Unavailable
from waypost.metrics import Gauge

WINDOW = 60 * 1_000_000_000  # ns

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_HEADER_SIZE = 512
_DIGEST_SIZE = 16
_UNUSED = bytes(_DIGEST_SIZE)
_MAX_PROBES = 8
"""Neighboring slots that a key may use. When all are in use, the slot that was idle longest is reused."""


class FileRateLimiter(RateLimiter):
    """Counts in slots: a slot contains a key's digest and the time when each counted request leaves the window."""

    def __init__(
        self, path: Path, *, limit: int, slots: int = 65_536, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        super().__init__(limit)
        self._clock = clock
        self._slots = slots
        self._times = struct.Struct(f"<{limit}Q")
        self._slot_size = -(-(_DIGEST_SIZE + self._times.size) // 512) * 512
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._open(_boot_id())

    async def _check(self, key: bytes) -> RateLimitResult:
        try:
            with self._locked():
                return self._take(blake2b(key, digest_size=_DIGEST_SIZE).digest(), self._clock())
        except OSError as error:  # a full disk
            raise Unavailable from error

    def close(self) -> None:
        os.close(self._file)

    def _take(self, digest: bytes, now: int) -> RateLimitResult:
        slot, times = self._find_slot(digest)
        end = now + WINDOW
        free = [index for index, free_at in enumerate(times) if not now < free_at <= end]
        if not free:
            return RateLimitResult(allowed=False, remaining=0, retry_after=-(-(min(times) - now) // 1_000_000_000))
        # one aligned word in one write: a process killed here has either counted the request or not
        os.pwrite(self._file, end.to_bytes(8, "little"), slot + _DIGEST_SIZE + 8 * free[0])
        return RateLimitResult(allowed=True, remaining=len(free) - 1, retry_after=0)

    def _find_slot(self, digest: bytes) -> tuple[int, tuple[int, ...]]:
        """Return (offset of the key's slot, its times). A new key gets the slot that was idle longest."""
        first_slot = _HEADER_SIZE + int.from_bytes(digest[:4], "little") % self._slots * self._slot_size
        slots = os.pread(self._file, self._slot_size * _MAX_PROBES, first_slot)
        starts = range(0, len(slots), self._slot_size)
        for start in starts:
            if slots.startswith(digest, start):
                return first_slot + start, self._times.unpack_from(slots, start + _DIGEST_SIZE)
        start = self._find_idle(slots, starts)
        os.pwrite(self._file, digest + bytes(self._times.size), first_slot + start)
        return first_slot + start, (0,) * self.limit

    def _find_idle(self, slots: bytes, starts: range) -> int:
        for start in starts:
            if slots.startswith(_UNUSED, start):  # most are: comparing times took as long as all the rest
                return start
        return min(starts, key=lambda offset: max(self._times.unpack_from(slots, offset + _DIGEST_SIZE)))

    def _open(self, boot: bytes) -> None:
        with self._locked():
            if os.pread(self._file, len(boot), 0) != boot:
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, boot, 0)
            os.ftruncate(self._file, _HEADER_SIZE + (self._slots + _MAX_PROBES) * self._slot_size)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


class FileLimiters:
    """A file in `directory` for each limiter."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._limiters: list[FileRateLimiter] = []

    def new(self, name: str, *, limit: int, slots: int = 65_536) -> RateLimiter:
        self._limiters.append(FileRateLimiter(self._directory / name, limit=limit, slots=slots))
        return self._limiters[-1]

    def gauges(self) -> list[Gauge]:
        """A file needs no connections."""
        return []

    async def close(self) -> None:
        for limiter in self._limiters:
            limiter.close()


def _boot_id() -> bytes:
    try:
        return _BOOT_ID.read_bytes().strip()
    except FileNotFoundError:  # not Linux: then only a time more than a window ahead reveals a reboot
        return b"unknown"
