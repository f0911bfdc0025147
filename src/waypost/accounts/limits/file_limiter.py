"""Rate limits of one machine: a sliding log that all its processes share, in a file of slots.

Time is the monotonic clock, which ignores changes of the wall clock and restarts at boot, so each boot has files of its
own.
"""

import shutil
import struct
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

from waypost.accounts.limits.limiter import RateLimiter, RateLimitResult
from waypost.metrics import Gauge
from waypost.slot_file import KEY_SIZE, SlotFile

WINDOW = 60 * 1_000_000_000  # ns

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class FileRateLimiter(RateLimiter):
    """Counts in slots: a slot contains a key's digest and the time when each counted request leaves the window."""

    def __init__(
        self, path: Path, *, limit: int, slots: int = 65_536, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        super().__init__(limit)
        self._clock = clock
        self._times = struct.Struct(f"<{limit}Q")
        self._slots = SlotFile(path, count=slots, size=-(-(KEY_SIZE + self._times.size) // 512) * 512)

    async def _check(self, key: bytes) -> RateLimitResult:
        digest = blake2b(key, digest_size=KEY_SIZE).digest()
        with await self._slots.lock(digest) as slots:
            now = self._clock()
            end = now + WINDOW
            offset, slot = slots.find(lambda slot: max(self._times.unpack_from(slot, KEY_SIZE)))
            if slot is None:
                slots.write(offset, digest + bytes(self._times.size))
            times = self._times.unpack_from(slot, KEY_SIZE) if slot else (0,) * self.limit
            free = [index for index, free_at in enumerate(times) if not now < free_at <= end]
            if not free:
                return RateLimitResult(allowed=False, remaining=0, retry_after=-(-(min(times) - now) // 1_000_000_000))
            # one aligned word in one write: a process killed here has either counted the request or not
            slots.write(offset + KEY_SIZE + 8 * free[0], end.to_bytes(8, "little"))
            return RateLimitResult(allowed=True, remaining=len(free) - 1, retry_after=0)

    def close(self) -> None:
        self._slots.close()


class FileLimiters:
    """A file for each limiter, in a directory for each boot."""

    def __init__(self, directory: Path, boot_id: Path = _BOOT_ID) -> None:
        """`boot_id`: a file. Without it, only a time more than a window ahead reveals a reboot."""
        self._directory = directory / f"limits-{boot_id.read_text().strip() if boot_id.exists() else ''}"
        for other in {*directory.glob("limits-*")} - {self._directory}:
            shutil.rmtree(other, ignore_errors=True)
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
