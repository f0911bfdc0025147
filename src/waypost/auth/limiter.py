"""Rate limits: requests in any minute, counted in one sliding log for all processes of a machine (R15).

The log is a file of slots under a record lock, which the system releases when its holder dies. Time is the monotonic
clock, which ignores changes of the wall clock and restarts at boot: so the file is cleared at boot.
"""

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from waypost.kit.errors import RateLimited, Unavailable

REQUESTS_PER_MINUTE = 60
UNKNOWN_PER_MINUTE = 600
"""Requests without a usable key, for each IP address."""

WINDOW = 60 * 1_000_000_000  # ns

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_HEADER = 512
_NAME = 16
_PROBED = 8
"""Neighboring slots that a key may use. When all are in use, the slot that was idle longest is reused."""


@dataclass(frozen=True, slots=True)
class RateLimitResult:
    allowed: bool
    remaining: int
    retry_after: int
    """Seconds until the next request is allowed; 0 when this one is."""


class RateLimiter:
    """A slot holds a key's digest and, for each request of its window, when that request leaves the window."""

    def __init__(
        self, path: Path, *, limit: int, slots: int = 65_536, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self.limit = limit
        self._clock = clock
        self._slots = slots
        self._places = struct.Struct(f"<{limit}Q")
        self._slot = -(-(_NAME + self._places.size) // 512) * 512
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._begin(_boot_id())

    async def require(self, key: bytes) -> None:
        """Counts a request. Raises RateLimited."""
        result = await self.take(key)
        if not result.allowed:
            raise RateLimited(result.retry_after)

    async def take(self, key: bytes) -> RateLimitResult:
        """Counts a request. A refused request is not counted, so it does not extend the wait."""
        try:
            with self._locked():
                return self._take(blake2b(key, digest_size=_NAME).digest(), self._clock())
        except OSError as error:  # a full disk
            raise Unavailable from error

    def close(self) -> None:
        os.close(self._file)

    def _take(self, name: bytes, now: int) -> RateLimitResult:
        at, places = self._find(name)
        busy = sorted(free_at for free_at in places if now < free_at <= now + WINDOW)
        if len(busy) >= self.limit:
            return RateLimitResult(allowed=False, remaining=0, retry_after=-(-(busy[0] - now) // 1_000_000_000))
        place = next(index for index, free_at in enumerate(places) if not now < free_at <= now + WINDOW)
        # one aligned word in one write: a process killed here has either counted the request or not
        os.pwrite(self._file, (now + WINDOW).to_bytes(8, "little"), at + _NAME + 8 * place)
        return RateLimitResult(allowed=True, remaining=self.limit - len(busy) - 1, retry_after=0)

    def _find(self, name: bytes) -> tuple[int, tuple[int, ...]]:
        """(offset of the key's slot, its times); a new key gets the slot that was idle longest."""
        home = _HEADER + int.from_bytes(name[:4], "little") % self._slots * self._slot
        probed = os.pread(self._file, self._slot * _PROBED, home)
        starts = range(0, len(probed), self._slot)
        for start in starts:
            if probed.startswith(name, start):
                return home + start, self._places.unpack_from(probed, start + _NAME)
        start = min(starts, key=lambda each: max(self._places.unpack_from(probed, each + _NAME)))
        os.pwrite(self._file, name + bytes(self._places.size), home + start)
        return home + start, (0,) * self.limit

    def _begin(self, boot: bytes) -> None:
        with self._locked():
            if os.pread(self._file, len(boot), 0) != boot:
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, boot, 0)
            os.ftruncate(self._file, _HEADER + (self._slots + _PROBED) * self._slot)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


def _boot_id() -> bytes:
    try:
        return _BOOT_ID.read_bytes().strip()
    except FileNotFoundError:  # not Linux: then only a time more than a window ahead reveals a reboot
        return b"unknown"
