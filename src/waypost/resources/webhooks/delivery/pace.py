"""How many attempts a subscription may have under way: more while they succeed, half as many after each that does not.

A receiver that hangs soon holds a single place, however many deliveries wait for it.
"""

from collections import OrderedDict
from uuid import UUID

FIRST = 4
MOST = 32
_REMEMBERED = 10_000  # subscriptions; one that is forgotten begins anew


class Pace:
    def __init__(self) -> None:
        self._allowed: OrderedDict[UUID, int] = OrderedDict()

    def allows(self, webhook_id: UUID) -> int:
        return self._allowed.get(webhook_id, FIRST)

    def note(self, webhook_id: UUID, *, succeeded: bool) -> None:
        before = self.allows(webhook_id)
        self._allowed[webhook_id] = min(MOST, before + 1) if succeeded else max(1, before // 2)
        self._allowed.move_to_end(webhook_id)
        if len(self._allowed) > _REMEMBERED:
            self._allowed.popitem(last=False)
