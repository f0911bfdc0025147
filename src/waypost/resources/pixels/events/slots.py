"""Which pixels may have a request in flight: one of each account and a limited number of each platform.

Lots that failed before share half of a platform's slots: however many of its pixels hang, the other half is free.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

AT_MOST = 16
OF_PLATFORM = 8
_FAILED_BEFORE = OF_PLATFORM // 2


@dataclass(frozen=True, slots=True)
class QueuedPixel:
    """A pixel with a request in flight, or with events that wait for one."""

    pixel_id: UUID
    account_id: UUID
    platform: str
    attempt: int
    """1 for the first."""


class RequestSlots:
    def __init__(self, in_flight: Iterable[QueuedPixel]) -> None:
        self._taken = 0
        self._accounts = set[UUID]()
        self._of_platform = Counter[str]()
        self._failed_before = Counter[str]()
        for pixel in in_flight:
            self._note(pixel)

    def take(self, pixel: QueuedPixel) -> bool:
        """False when no slot is free for it."""
        is_full = self._taken >= AT_MOST or self._of_platform[pixel.platform] >= OF_PLATFORM
        if is_full or pixel.account_id in self._accounts:
            return False
        if pixel.attempt > 1 and self._failed_before[pixel.platform] >= _FAILED_BEFORE:
            return False
        self._note(pixel)
        return True

    def _note(self, pixel: QueuedPixel) -> None:
        self._taken += 1
        self._accounts.add(pixel.account_id)
        self._of_platform[pixel.platform] += 1
        self._failed_before[pixel.platform] += pixel.attempt > 1
