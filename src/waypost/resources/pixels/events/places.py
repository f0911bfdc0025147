"""Who may have a request under way: one of each account, so that none holds up the others, and of each platform some.

What failed before shares half of a platform's places: however many of its pixels hang, the other half is free.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

AT_MOST = 16
OF_PLATFORM = 8
_FAILED_BEFORE = OF_PLATFORM // 2


@dataclass(frozen=True, slots=True)
class Turn:
    """A pixel that has, or could have, a request under way."""

    pixel_id: UUID
    account_id: UUID
    platform: str
    attempt: int
    """1 for the first."""


class Places:
    def __init__(self, under_way: Iterable[Turn]) -> None:
        self._taken = 0
        self._accounts = set[UUID]()
        self._of_platform = Counter[str]()
        self._failed_before = Counter[str]()
        for turn in under_way:
            self._note(turn)

    def take(self, turn: Turn) -> bool:
        """False when there is none for it."""
        is_full = self._taken >= AT_MOST or self._of_platform[turn.platform] >= OF_PLATFORM
        if is_full or turn.account_id in self._accounts:
            return False
        if turn.attempt > 1 and self._failed_before[turn.platform] >= _FAILED_BEFORE:
            return False
        self._note(turn)
        return True

    def _note(self, turn: Turn) -> None:
        self._taken += 1
        self._accounts.add(turn.account_id)
        self._of_platform[turn.platform] += 1
        self._failed_before[turn.platform] += turn.attempt > 1
