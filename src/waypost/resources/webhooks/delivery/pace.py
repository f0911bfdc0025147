"""Limits attempts in flight and the rate of new attempts: per subscription, and per account and host (a lane).

The limit in flight grows by one with each success and is halved by each failure. A receiver that hangs soon has a
single slot, however many deliveries are pending for it. Twenty subscriptions of an account to one host get no more than
one of them would: one click must not become an attack on that host. Each worker limits its own rate; attempts in flight
are counted in the database, for all workers.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import count
from uuid import UUID

FIRST = 2
FIRST_AT_HOST, LEAST_AT_HOST = 4, 2  # one that hangs leaves a slot for the account's other subscriptions at its host
MAX_IN_FLIGHT = 10
"""In flight, for a subscription as well as for a lane."""
RATE = 100.0
"""New attempts of a lane per second."""
BURST = 20.0
"""As many as become due in the worker's longest pause."""
_REMEMBERED = 20_000  # a forgotten one starts again at FIRST


@dataclass(frozen=True, slots=True)
class Target:
    """A subscription and the host of its receiver."""

    webhook_id: UUID
    account_id: UUID
    host: str
    """Without the port: all ports of a host are one machine."""

    @property
    def lane(self) -> Hashable:
        """Shared by all subscriptions of an account to a host."""
        return self.account_id, self.host


@dataclass(slots=True)
class _Limit:
    allowed: int
    last_start: int = 0
    succeeded: bool = False
    """In its last attempt."""
    tokens: float = BURST
    counted_at: float = 0.0


class Pace:
    def __init__(self, *, rate: float = RATE, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._monotonic = monotonic
        self._known: OrderedDict[Hashable, _Limit] = OrderedDict()
        self._starts = count(1)

    def allows(self, webhook_id: UUID) -> int:
        known = self._known.get(webhook_id)
        return known.allowed if known else FIRST

    def allows_at_host(self, lane: Hashable) -> int:
        known = self._known.get(lane)
        return known.allowed if known else FIRST_AT_HOST

    def may_start(self, lane: Hashable) -> float:
        """New attempts that the rate allows now."""
        known = self._known.get(lane)
        return self._tokens(known) if known else BURST

    def is_working(self, webhook_id: UUID) -> bool:
        known = self._known.get(webhook_id)
        return known is not None and known.succeeded

    def last_start(self, key: Hashable) -> int:
        """Of a subscription or a lane: the later its last attempt started, the larger. 0 for none."""
        known = self._known.get(key)
        return known.last_start if known else 0

    def begun(self, target: Target) -> None:
        number, lane = next(self._starts), self._remembered(target.lane, FIRST_AT_HOST)
        lane.tokens, lane.counted_at = self._tokens(lane) - 1, self._monotonic()
        lane.last_start = self._remembered(target.webhook_id, FIRST).last_start = number

    def note(self, target: Target, *, succeeded: bool) -> None:
        known, lane = self._remembered(target.webhook_id, FIRST), self._remembered(target.lane, FIRST_AT_HOST)
        known.succeeded = succeeded
        known.allowed = _next(known.allowed, succeeded=succeeded, least=1)
        lane.allowed = _next(lane.allowed, succeeded=succeeded, least=LEAST_AT_HOST)

    def _tokens(self, known: _Limit) -> float:
        passed = self._monotonic() - known.counted_at
        return min(BURST, known.tokens + passed * self._rate)

    def _remembered(self, key: Hashable, first: int) -> _Limit:
        known = self._known.setdefault(key, _Limit(first))
        self._known.move_to_end(key)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return known


def _next(allowed: int, *, succeeded: bool, least: int) -> int:
    return min(MAX_IN_FLIGHT, allowed + 1) if succeeded else max(least, allowed // 2)
