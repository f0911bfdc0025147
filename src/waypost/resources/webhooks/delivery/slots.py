"""Chooses which due deliveries may start now. Pure, except for the state of `pace`.

Slots are limited in total, per host, per lane (an account at a host) and per subscription. Receivers whose last attempt
failed share half of each limit, however many they are: the other half stays free for those that work. Lanes alternate,
and so do the subscriptions of a lane: no account can occupy a host, or the worker.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import TypeVar
from uuid import UUID

from waypost.resources.webhooks.delivery.pace import Pace, Target

MAX_FAILING = 128
"""Half of all slots."""
MAX_AT_HOST = 128
"""For all accounts together."""

T = TypeVar("T")


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
        for target, count in in_flight.items():
            self._note(target, count)

    def take(self, target: Target) -> bool:
        """False when none is free for it."""
        is_free = self._has_slot(target) and self._has_token(target.lane)
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

    def _has_token(self, lane: Hashable) -> bool:
        return self._pace.may_start(lane) >= self._started[lane] + 1

    def _note(self, target: Target, count: int) -> None:
        keys: tuple[Hashable, ...] = (target.webhook_id, target.lane, target.host)
        if not self._pace.is_working(target.webhook_id):
            keys += ((target.lane, False), (target.host, False), False)
        for key in keys:
            self._taken[key] += count


def _alternate(
    queues: Iterable[DueDeliveries], in_flight: Mapping[Target, int], pace: Pace
) -> Iterator[tuple[Target, str]]:
    """Alternates between lanes, and within a lane between subscriptions: those with the fewest in flight first."""
    of_lane, lanes = Counter[Hashable](), defaultdict[Hashable, list[DueDeliveries]](list)
    for target, count in in_flight.items():
        of_lane[target.lane] += count
    for queue in sorted(
        queues, key=lambda each: (in_flight.get(each.target, 0), pace.last_start(each.target.webhook_id))
    ):
        lanes[queue.target.lane].append(queue)
    ordered = sorted(lanes, key=lambda lane: (of_lane[lane], pace.last_start(lane)))
    return _interleaved(list(_interleaved([_deliveries(queue) for queue in lanes[lane]])) for lane in ordered)


def _deliveries(queue: DueDeliveries) -> list[tuple[Target, str]]:
    return [(queue.target, id_) for id_ in queue.due]


def _interleaved(several: Iterable[Iterable[T]]) -> Iterator[T]:
    return (each for row in zip_longest(*several) for each in row if each is not None)
