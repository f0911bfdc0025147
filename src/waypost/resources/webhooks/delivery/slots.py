"""Which deliveries of those that are due may start now. Pure, but for what `pace` remembers.

Slots are limited in all, per host, per account at a host (a lane) and per subscription. Receivers whose last attempt
did not succeed share half of each, however many they are: the other half stays free for those that work. Lanes take
turns, and so do the subscriptions of a lane: no account keeps a host, or the worker, to itself.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import TypeVar
from uuid import UUID

from waypost.resources.webhooks.delivery.pace import Pace, Target

UNPROVED_AT_MOST = 128
"""Half of the slots there are."""
AT_HOST = 128
"""Of all accounts together."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Queue:
    """What is due of a subscription."""

    target: Target
    due: Sequence[str]
    """Ids, of which only those that are claimed are worth parsing."""


def share(queues: Iterable[Queue], in_flight: Mapping[Target, int], limit: int, pace: Pace) -> list[UUID]:
    """Ids of at most `limit` deliveries: first those of receivers that work."""
    proved, unproved, slots = list[Queue](), list[Queue](), _Slots(in_flight, pace)
    for queue in queues:
        (proved if pace.is_proved(queue.target.webhook_id) else unproved).append(queue)
    turns = (turn for some in (proved, unproved) for turn in _turns(some, in_flight, pace))
    return list(islice((UUID(id_) for target, id_ in turns if slots.take(target)), limit))


class _Slots:
    def __init__(self, in_flight: Mapping[Target, int], pace: Pace) -> None:
        self._pace = pace
        self._taken = Counter[Hashable]()
        """By subscription, lane and host; under (…, False) of those unproved alone, and of all under False."""
        self._started = Counter[Hashable]()
        for target, count in in_flight.items():
            self._note(target, count)

    def take(self, target: Target) -> bool:
        """False when there is none for it."""
        is_free = self._has_slot(target) and self._has_token(target.lane)
        if is_free:
            self._started[target.lane] += 1
            self._note(target, 1)
        return is_free

    def _has_slot(self, target: Target) -> bool:
        taken, in_lane = self._taken, self._pace.allows_at_host(target.lane)
        if taken[target.webhook_id] >= self._pace.allows(target.webhook_id):
            return False
        if taken[target.lane] >= in_lane or taken[target.host] >= AT_HOST:
            return False
        return self._pace.is_proved(target.webhook_id) or (
            taken[target.lane, False] < in_lane // 2
            and taken[target.host, False] < AT_HOST // 2
            and taken[False] < UNPROVED_AT_MOST
        )

    def _has_token(self, lane: Hashable) -> bool:
        return self._pace.may_start(lane) >= self._started[lane] + 1

    def _note(self, target: Target, count: int) -> None:
        keys: tuple[Hashable, ...] = (target.webhook_id, target.lane, target.host)
        if not self._pace.is_proved(target.webhook_id):
            keys += ((target.lane, False), (target.host, False), False)
        for key in keys:
            self._taken[key] += count


def _turns(queues: Iterable[Queue], in_flight: Mapping[Target, int], pace: Pace) -> Iterator[tuple[Target, str]]:
    """One of each lane in turn, and within a lane one of each subscription: first whoever has the fewest in flight."""
    of_lane, lanes = Counter[Hashable](), defaultdict[Hashable, list[Queue]](list)
    for target, count in in_flight.items():
        of_lane[target.lane] += count
    for queue in sorted(
        queues, key=lambda each: (in_flight.get(each.target, 0), pace.last_turn(each.target.webhook_id))
    ):
        lanes[queue.target.lane].append(queue)
    ordered = sorted(lanes, key=lambda lane: (of_lane[lane], pace.last_turn(lane)))
    return _interleaved(list(_interleaved([_deliveries(queue) for queue in lanes[lane]])) for lane in ordered)


def _deliveries(queue: Queue) -> list[tuple[Target, str]]:
    return [(queue.target, id_) for id_ in queue.due]


def _interleaved(several: Iterable[Iterable[T]]) -> Iterator[T]:
    return (each for turn in zip_longest(*several) for each in turn if each is not None)
