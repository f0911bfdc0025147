"""R9: how many attempts may be in flight and how many may start, by subscription and by account at a host."""

from uuid import UUID, uuid4

import pytest

from waypost.resources.webhooks import delivery_limiter
from waypost.resources.webhooks.delivery_limiter import (
    BURST,
    INITIAL_HOST_LIMIT,
    INITIAL_LIMIT,
    MAX_IN_FLIGHT,
    MIN_HOST_LIMIT,
    RATE,
    DeliveryLimiter,
    WebhookReceiver,
)


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(clock: Clock) -> DeliveryLimiter:
    return DeliveryLimiter(monotonic=clock)


def new_receiver(account: UUID | None = None, host: str = "a.example") -> WebhookReceiver:
    return WebhookReceiver(uuid4(), account or uuid4(), host)


def test_starts_with_the_initial_limits_and_grows(limiter: DeliveryLimiter) -> None:
    receiver, other = new_receiver(), new_receiver()
    assert (limiter.max_in_flight(receiver.webhook_id), limiter.max_in_flight_at_host(receiver.account_host)) == (
        INITIAL_LIMIT,
        INITIAL_HOST_LIMIT,
    )
    limiter.record_result(receiver, succeeded=True)
    assert (limiter.max_in_flight(receiver.webhook_id), limiter.max_in_flight_at_host(receiver.account_host)) == (
        INITIAL_LIMIT + 1,
        INITIAL_HOST_LIMIT + 1,
    )
    assert (limiter.max_in_flight(other.webhook_id), limiter.max_in_flight_at_host(other.account_host)) == (
        INITIAL_LIMIT,
        INITIAL_HOST_LIMIT,
    )


def test_limits_in_flight_stay_between_minimum_and_maximum(limiter: DeliveryLimiter) -> None:
    receiver, allowed, at_host = new_receiver(), list[int](), list[int]()
    for succeeded in [False] * 5 + [True] * 20 + [False] * 5:
        limiter.record_result(receiver, succeeded=succeeded)
        allowed.append(limiter.max_in_flight(receiver.webhook_id))
        at_host.append(limiter.max_in_flight_at_host(receiver.account_host))
    assert allowed == [1] * 5 + [*range(2, MAX_IN_FLIGHT), *[MAX_IN_FLIGHT] * 12] + [5, 2, 1, 1, 1]
    assert at_host == [MIN_HOST_LIMIT] * 5 + [*range(3, MAX_IN_FLIGHT), *[MAX_IN_FLIGHT] * 13] + [5, 2, 2, 2, 2]


def test_subscriptions_of_an_account_to_a_host_share_a_limit(limiter: DeliveryLimiter) -> None:
    account = uuid4()
    one, same, elsewhere, of_another = (
        new_receiver(account),
        new_receiver(account),
        new_receiver(account, "b.example"),
        new_receiver(),
    )
    limiter.record_result(one, succeeded=True)
    allowed = [limiter.max_in_flight_at_host(each.account_host) for each in (one, same, elsewhere, of_another)]
    assert allowed == [INITIAL_HOST_LIMIT + 1, INITIAL_HOST_LIMIT + 1, INITIAL_HOST_LIMIT, INITIAL_HOST_LIMIT]


def test_works_after_a_successful_attempt(limiter: DeliveryLimiter) -> None:
    receiver = new_receiver()
    found = [limiter.is_working(receiver.webhook_id)]
    limiter.record_start(receiver)
    found.append(limiter.is_working(receiver.webhook_id))
    for succeeded in (True, False, True):
        limiter.record_result(receiver, succeeded=succeeded)
        found.append(limiter.is_working(receiver.webhook_id))
    assert found == [False, False, True, False, True]


def test_knows_the_order_of_last_starts(limiter: DeliveryLimiter) -> None:
    first, second = new_receiver(), new_receiver()
    assert limiter.last_start(first.webhook_id) == limiter.last_start(first.account_host) == 0
    limiter.record_start(first)
    limiter.record_start(second)
    assert 0 < limiter.last_start(first.webhook_id) < limiter.last_start(second.webhook_id)
    assert 0 < limiter.last_start(first.account_host) < limiter.last_start(second.account_host)
    limiter.record_start(first)
    assert limiter.last_start(first.webhook_id) > limiter.last_start(second.webhook_id)


def test_starts_are_limited_by_a_rate(limiter: DeliveryLimiter, clock: Clock) -> None:
    receiver = new_receiver()
    assert limiter.available_starts(receiver.account_host) == BURST
    for _ in range(int(BURST)):
        limiter.record_start(receiver)
    assert limiter.available_starts(receiver.account_host) == 0
    assert limiter.available_starts(new_receiver().account_host) == BURST
    clock.seconds += 3 / RATE
    assert limiter.available_starts(receiver.account_host) == pytest.approx(3)
    clock.seconds += 3_600
    assert limiter.available_starts(receiver.account_host) == BURST


def test_drops_the_least_recently_used_limits(limiter: DeliveryLimiter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_limiter, "_MAX_TRACKED", 6)  # two for each webhook
    receivers = [new_receiver() for _ in range(4)]
    for receiver in receivers[:3]:
        limiter.record_result(receiver, succeeded=True)
    limiter.record_start(receivers[0])
    limiter.record_result(receivers[3], succeeded=True)
    assert [limiter.max_in_flight(each.webhook_id) for each in receivers] == [
        INITIAL_LIMIT + 1,
        INITIAL_LIMIT,
        INITIAL_LIMIT + 1,
        INITIAL_LIMIT + 1,
    ]
