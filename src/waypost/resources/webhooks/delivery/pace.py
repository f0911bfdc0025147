"""How many attempts a subscription may have under way: more while they succeed, half as many after each that does not.

A receiver that hangs soon holds a single place, however many deliveries wait for it; those that have not succeeded
lately share half of all places, so that however many hang the other half is free. And whose turn it is: with more
subscriptions waiting than there are places, those that hang would otherwise take every one that becomes free.
"""

from collections import OrderedDict
from dataclasses import dataclass
from itertools import count
from uuid import UUID

FIRST = 2
MOST = 32
_REMEMBERED = 10_000  # subscriptions; one that is forgotten begins anew


@dataclass(slots=True)
class _Known:
    allowed: int = FIRST
    last_turn: int = 0
    succeeded: bool = False
    """In its last attempt."""


class Pace:
    def __init__(self) -> None:
        self._known: OrderedDict[UUID, _Known] = OrderedDict()
        self._turns = count(1)

    def allows(self, webhook_id: UUID) -> int:
        known = self._known.get(webhook_id)
        return known.allowed if known else FIRST

    def is_proved(self, webhook_id: UUID) -> bool:
        known = self._known.get(webhook_id)
        return known is not None and known.succeeded

    def last_turn(self, webhook_id: UUID) -> int:
        """The larger, the later it was; 0 for none."""
        known = self._known.get(webhook_id)
        return known.last_turn if known else 0

    def begun(self, webhook_id: UUID) -> None:
        self._remembered(webhook_id).last_turn = next(self._turns)

    def note(self, webhook_id: UUID, *, succeeded: bool) -> None:
        known = self._remembered(webhook_id)
        known.succeeded = succeeded
        known.allowed = min(MOST, known.allowed + 1) if succeeded else max(1, known.allowed // 2)

    def _remembered(self, webhook_id: UUID) -> _Known:
        known = self._known.setdefault(webhook_id, _Known())
        self._known.move_to_end(webhook_id)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return known
