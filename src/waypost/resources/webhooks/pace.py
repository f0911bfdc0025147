"""Decides which deliveries may start now, and how many.

`Pace` limits attempts in flight and the rate of new attempts: per subscription, and per account and host (a lane).

The limit in flight grows by one with each success and is halved by each failure. A receiver that hangs soon has a
single slot, however many deliveries are pending for it. Twenty subscriptions of an account to one host get no more than
one of them would: one click must not become an attack on that host. Each worker limits its own rate; attempts in flight
are counted in the database, for all workers.

`share` distributes slots, which are limited in total, per host, per lane and per subscription. Receivers whose last
attempt failed share half of each limit, however many they are: the other half stays free for those that work. Lanes
alternate, and so do the subscriptions of a lane: no account can occupy a host, or the worker.
"""

import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice, zip_longest
from typing import TypeVar
from uuid import UUID

FIRST = 2
FIRST_AT_HOST, LEAST_AT_HOST = 4, 2  # one that hangs leaves a slot for the account's other subscriptions at its host
MAX_IN_FLIGHT = 10
"""In flight, for a subscription as well as for a lane."""
RATE = 100.0
"""New attempts of a lane per second."""
BURST = 20.0
"""As many as become due in the worker's longest pause."""
MAX_FAILING = 128
"""Half of all slots."""
MAX_AT_HOST = 128
"""For all accounts together."""
_REMEMBERED = 20_000  # a forgotten one starts again at FIRST

T = TypeVar("T")


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


_NEW, _NEW_LANE = _Limit(FIRST), _Limit(FIRST_AT_HOST)


class Pace:
    def __init__(self, *, rate: float = RATE, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._monotonic = monotonic
        self._known: OrderedDict[Hashable, _Limit] = OrderedDict()
        self._starts = count(1)

    def allows(self, webhook_id: UUID) -> int:
        return self._known.get(webhook_id, _NEW).allowed

    def allows_at_host(self, lane: Hashable) -> int:
        return self._known.get(lane, _NEW_LANE).allowed

    def may_start(self, lane: Hashable) -> float:
        """New attempts that the rate allows now."""
        return self._tokens(self._known.get(lane, _NEW_LANE))

    def is_working(self, webhook_id: UUID) -> bool:
        return self._known.get(webhook_id, _NEW).succeeded

    def last_start(self, key: Hashable) -> int:
        """Of a subscription or a lane: the later its last attempt started, the larger. 0 for none."""
        return self._known.get(key, _NEW).last_start

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


@dataclass(frozen=True, slots=True)
class DueDeliveries:
    """The due deliveries of a subscription."""

    target: Target
    due: Sequence[str]
    """Ids, parsed only when they are claimed."""


def share(queues: Iterable[DueDeliveries], in_flight: Mapping[Target, int], limit: int, pace: Pace) -> list[UUID]:
    """Ids of at most `limit` deliveries, those of working receivers first."""
    working, failing, slots = list[DueDeliveries](), list[DueDeliveries](), _Slots(in_flight, pace)
    for queue in queues:
        (working if pace.is_working(queue.target.webhook_id) else failing).append(queue)
    candidates = (each for some in (working, failing) for each in _alternate(some, in_flight, pace))
    return list(islice((UUID(id_) for target, id_ in candidates if slots.take(target)), limit))


class _Slots:
    def __init__(self, in_flight: Mapping[Target, int], pace: Pace) -> None:
        self._pace = pace
        self._taken = Counter[Hashable]()
        """By subscription, lane and host; failing receivers also under (…, False), and all of these under False."""
        self._started = Counter[Hashable]()
        for target, attempts in in_flight.items():
            self._note(target, attempts)

    def take(self, target: Target) -> bool:
        """False when none is free for it."""
        is_free = self._has_slot(target) and self._pace.may_start(target.lane) >= self._started[target.lane] + 1
        if is_free:
            self._started[target.lane] += 1
            self._note(target, 1)
        return is_free

    def _has_slot(self, target: Target) -> bool:
        taken, in_lane = self._taken, self._pace.allows_at_host(target.lane)
        if taken[target.webhook_id] >= self._pace.allows(target.webhook_id):
            return False
        if taken[target.lane] >= in_lane or taken[target.host] >= MAX_AT_HOST:
            return False
        return self._pace.is_working(target.webhook_id) or (
            taken[target.lane, False] < in_lane // 2
            and taken[target.host, False] < MAX_AT_HOST // 2
            and taken[False] < MAX_FAILING
        )

    def _note(self, target: Target, attempts: int) -> None:
        keys: tuple[Hashable, ...] = (target.webhook_id, target.lane, target.host)
        if not self._pace.is_working(target.webhook_id):
            keys += ((target.lane, False), (target.host, False), False)
        for key in keys:
            self._taken[key] += attempts


def _alternate(
    queues: Iterable[DueDeliveries], in_flight: Mapping[Target, int], pace: Pace
) -> Iterator[tuple[Target, str]]:
    """Alternates between lanes, and within a lane between subscriptions: those with the fewest in flight first."""
    of_lane, lanes = Counter[Hashable](), defaultdict[Hashable, list[list[tuple[Target, str]]]](list)
    for target, attempts in in_flight.items():
        of_lane[target.lane] += attempts
    fewest_first = sorted(
        queues, key=lambda each: (in_flight.get(each.target, 0), pace.last_start(each.target.webhook_id))
    )
    for queue in fewest_first:
        lanes[queue.target.lane].append([(queue.target, id_) for id_ in queue.due])
    ordered = sorted(lanes, key=lambda lane: (of_lane[lane], pace.last_start(lane)))
    return _interleaved(list(_interleaved(lanes[lane])) for lane in ordered)


def _interleaved(several: Iterable[Iterable[T]]) -> Iterator[T]:
    return (each for row in zip_longest(*several) for each in row if each is not None)
