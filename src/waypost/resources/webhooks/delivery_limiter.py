"""Limits attempts in flight and the rate of new attempts, per webhook and per account and host.

The limit in flight grows by one with each success and is halved by each failure (AIMD). A receiver that hangs soon has
a single slot, however many deliveries are pending for it. Twenty webhooks of an account on one host get no more than
one of them would: one click must not become an attack on that host. The rate is a token bucket. Each worker limits its
own rate; attempts in flight are counted in the database, for all workers.

`choose_deliveries` distributes slots, which are limited in total, per host, per account and host, and per webhook.
Receivers whose last attempt failed share half of each limit, however many they are: the other half stays free for those
that work. Accounts alternate, and so do the webhooks of an account on a host: no account can occupy a host, or the
worker.
"""

import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice, zip_longest
from typing import TypeVar
from uuid import UUID

INITIAL_LIMIT = 2
INITIAL_HOST_LIMIT = 4
MIN_HOST_LIMIT = 2  # if one webhook hangs, the account's other webhooks on its host have a slot
MAX_IN_FLIGHT = 10
"""Per webhook, and per account and host."""
RATE = 100.0
"""New attempts per second, account and host."""
BURST = 20.0
"""As many as become due in the worker's longest pause."""
MAX_FAILING = 128
"""Half of all slots."""
MAX_AT_HOST = 128
"""For all accounts together."""
_MAX_TRACKED = 20_000  # one that is dropped starts again at its initial limit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WebhookReceiver:
    """A webhook and the host of its URL."""

    webhook_id: UUID
    account_id: UUID
    host: str
    """Without the port: all ports of a host are one machine."""

    @property
    def account_host(self) -> Hashable:
        """Key shared by all webhooks of an account on a host."""
        return self.account_id, self.host


@dataclass(slots=True)
class _Limit:
    in_flight: int
    last_start: int = 0
    succeeded: bool = False
    """Result of its last attempt."""
    tokens: float = BURST
    counted_at: float = 0.0


_NEW_WEBHOOK, _NEW_ACCOUNT_HOST = _Limit(INITIAL_LIMIT), _Limit(INITIAL_HOST_LIMIT)


class DeliveryLimiter:
    def __init__(self, *, rate: float = RATE, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._monotonic = monotonic
        self._limits: OrderedDict[Hashable, _Limit] = OrderedDict()
        self._starts = count(1)

    def max_in_flight(self, webhook_id: UUID) -> int:
        return self._limits.get(webhook_id, _NEW_WEBHOOK).in_flight

    def max_in_flight_at_host(self, account_host: Hashable) -> int:
        return self._limits.get(account_host, _NEW_ACCOUNT_HOST).in_flight

    def available_starts(self, account_host: Hashable) -> float:
        """Number of new attempts that the rate allows now."""
        return self._available_tokens(self._limits.get(account_host, _NEW_ACCOUNT_HOST))

    def is_working(self, webhook_id: UUID) -> bool:
        return self._limits.get(webhook_id, _NEW_WEBHOOK).succeeded

    def last_start(self, key: Hashable) -> int:
        """Sequence number of the last attempt; 0 if there was none."""
        return self._limits.get(key, _NEW_WEBHOOK).last_start

    def record_start(self, receiver: WebhookReceiver) -> None:
        number, at_host = next(self._starts), self._find_or_add(receiver.account_host, INITIAL_HOST_LIMIT)
        at_host.tokens, at_host.counted_at = self._available_tokens(at_host) - 1, self._monotonic()
        at_host.last_start = self._find_or_add(receiver.webhook_id, INITIAL_LIMIT).last_start = number

    def record_result(self, receiver: WebhookReceiver, *, succeeded: bool) -> None:
        webhook = self._find_or_add(receiver.webhook_id, INITIAL_LIMIT)
        at_host = self._find_or_add(receiver.account_host, INITIAL_HOST_LIMIT)
        webhook.succeeded = succeeded
        webhook.in_flight = _next_limit(webhook.in_flight, succeeded=succeeded, minimum=1)
        at_host.in_flight = _next_limit(at_host.in_flight, succeeded=succeeded, minimum=MIN_HOST_LIMIT)

    def _available_tokens(self, limit: _Limit) -> float:
        return min(BURST, limit.tokens + (self._monotonic() - limit.counted_at) * self._rate)

    def _find_or_add(self, key: Hashable, initial: int) -> _Limit:
        limit = self._limits.setdefault(key, _Limit(initial))
        self._limits.move_to_end(key)
        if len(self._limits) > _MAX_TRACKED:
            self._limits.popitem(last=False)
        return limit


def _next_limit(limit: int, *, succeeded: bool, minimum: int) -> int:
    return min(MAX_IN_FLIGHT, limit + 1) if succeeded else max(minimum, limit // 2)


@dataclass(frozen=True, slots=True)
class DueDeliveries:
    """The due deliveries of a webhook."""

    receiver: WebhookReceiver
    ids: Sequence[str]
    """Parsed only when they are claimed."""


def choose_deliveries(
    queues: Iterable[DueDeliveries], in_flight: Mapping[WebhookReceiver, int], limit: int, limiter: DeliveryLimiter
) -> list[UUID]:
    """Return ids of at most `limit` deliveries, those of working receivers first."""
    working, failing, slots = list[DueDeliveries](), list[DueDeliveries](), _Slots(in_flight, limiter)
    for queue in queues:
        (working if limiter.is_working(queue.receiver.webhook_id) else failing).append(queue)
    candidates = (candidate for group in (working, failing) for candidate in _alternate(group, in_flight, limiter))
    return list(islice((UUID(id_) for receiver, id_ in candidates if slots.take(receiver)), limit))


class _Slots:
    """Counts attempts by webhook, account and host, and host. Keys with False count those of failing receivers only."""

    def __init__(self, in_flight: Mapping[WebhookReceiver, int], limiter: DeliveryLimiter) -> None:
        self._limiter = limiter
        self._taken, self._started = Counter[Hashable](), Counter[Hashable]()
        for receiver, attempts in in_flight.items():
            self._taken.update(dict.fromkeys(self._limits(receiver), attempts))

    def take(self, receiver: WebhookReceiver) -> bool:
        """Return False if no slot is free for it."""
        key, limits = receiver.account_host, self._limits(receiver)
        if self._limiter.available_starts(key) < self._started[key] + 1:
            return False
        if any(self._taken[key] >= limit for key, limit in limits.items()):
            return False
        self._started[key] += 1
        self._taken.update(limits.keys())
        return True

    def _limits(self, receiver: WebhookReceiver) -> Mapping[Hashable, int]:
        account_host, host, limiter = receiver.account_host, receiver.host, self._limiter
        max_at_host = limiter.max_in_flight_at_host(account_host)
        limits: dict[Hashable, int] = {receiver.webhook_id: limiter.max_in_flight(receiver.webhook_id)}
        limits |= {account_host: max_at_host, host: MAX_AT_HOST}
        if not limiter.is_working(receiver.webhook_id):
            limits |= {(account_host, False): max_at_host // 2, (host, False): MAX_AT_HOST // 2, False: MAX_FAILING}
        return limits


def _alternate(
    queues: Iterable[DueDeliveries], in_flight: Mapping[WebhookReceiver, int], limiter: DeliveryLimiter
) -> Iterator[tuple[WebhookReceiver, str]]:
    """Alternate between accounts and hosts, and within them between webhooks: those with the fewest in flight first."""
    in_flight_at_host = Counter[Hashable]()
    for receiver, attempts in in_flight.items():
        in_flight_at_host[receiver.account_host] += attempts
    by_account_host = defaultdict[Hashable, list[list[tuple[WebhookReceiver, str]]]](list)
    for queue in sorted(
        queues, key=lambda queue: (in_flight.get(queue.receiver, 0), limiter.last_start(queue.receiver.webhook_id))
    ):
        by_account_host[queue.receiver.account_host].append([(queue.receiver, id_) for id_ in queue.ids])
    ordered = sorted(by_account_host, key=lambda key: (in_flight_at_host[key], limiter.last_start(key)))
    return _interleave(list(_interleave(by_account_host[key])) for key in ordered)


def _interleave(sequences: Iterable[Iterable[T]]) -> Iterator[T]:
    return (item for row in zip_longest(*sequences) for item in row if item is not None)
