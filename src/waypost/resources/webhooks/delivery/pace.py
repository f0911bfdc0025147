"""How many attempts may be in flight, and how many may start: per subscription, and per account at each host.

The number in flight grows by one with each success and is halved by each failure. A receiver that hangs soon holds a
single slot, however many deliveries wait for it. Twenty subscriptions of an account to one host get no more than one
of them would, so that they do not multiply a click into an attack on that host. The rate is kept by each worker for
itself; the number in flight is counted in the database, over all workers.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import count
from uuid import UUID

FIRST = 2
FIRST_AT_HOST, LEAST_AT_HOST = 4, 2  # one that hangs leaves a slot to the account's others at its host
MOST = 10
"""In flight, of a subscription as well as of an account at a host."""
RATE = 100.0
"""Attempts that an account starts at a host, a second."""
BURST = 20.0
"""As many as become due within the worker's longest pause."""
_REMEMBERED = 20_000  # one that is forgotten starts again


@dataclass(frozen=True, slots=True)
class Target:
    """A subscription, and where its deliveries go."""

    webhook_id: UUID
    account_id: UUID
    host: str
    """Without the port: many ports are still one machine."""

    @property
    def lane(self) -> Hashable:
        """What all subscriptions of an account to a host share."""
        return self.account_id, self.host


@dataclass(slots=True)
class _Known:
    allowed: int
    last_turn: int = 0
    succeeded: bool = False
    """In its last attempt."""
    tokens: float = BURST
    counted_at: float = 0.0


class Pace:
    def __init__(self, *, rate: float = RATE, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._monotonic = monotonic
        self._known: OrderedDict[Hashable, _Known] = OrderedDict()
        self._turns = count(1)

    def allows(self, webhook_id: UUID) -> int:
        known = self._known.get(webhook_id)
        return known.allowed if known else FIRST

    def allows_at_host(self, lane: Hashable) -> int:
        known = self._known.get(lane)
        return known.allowed if known else FIRST_AT_HOST

    def may_start(self, lane: Hashable) -> float:
        """How many attempts, by the rate."""
        known = self._known.get(lane)
        return self._tokens(known) if known else BURST

    def is_proved(self, webhook_id: UUID) -> bool:
        known = self._known.get(webhook_id)
        return known is not None and known.succeeded

    def last_turn(self, key: Hashable) -> int:
        """Of a subscription or a lane. The larger, the later it was; 0 for none."""
        known = self._known.get(key)
        return known.last_turn if known else 0

    def begun(self, target: Target) -> None:
        turn, lane = next(self._turns), self._remembered(target.lane, FIRST_AT_HOST)
        lane.tokens, lane.counted_at = self._tokens(lane) - 1, self._monotonic()
        lane.last_turn = self._remembered(target.webhook_id, FIRST).last_turn = turn

    def note(self, target: Target, *, succeeded: bool) -> None:
        known, lane = self._remembered(target.webhook_id, FIRST), self._remembered(target.lane, FIRST_AT_HOST)
        known.succeeded = succeeded
        known.allowed = _next(known.allowed, succeeded=succeeded, least=1)
        lane.allowed = _next(lane.allowed, succeeded=succeeded, least=LEAST_AT_HOST)

    def _tokens(self, known: _Known) -> float:
        passed = self._monotonic() - known.counted_at
        return min(BURST, known.tokens + passed * self._rate)

    def _remembered(self, key: Hashable, first: int) -> _Known:
        known = self._known.setdefault(key, _Known(first))
        self._known.move_to_end(key)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return known


def _next(allowed: int, *, succeeded: bool, least: int) -> int:
    return min(MOST, allowed + 1) if succeeded else max(least, allowed // 2)
