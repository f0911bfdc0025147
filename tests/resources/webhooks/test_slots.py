"""R9: which deliveries may start, among subscriptions of many accounts to one host and to many."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID, uuid4

import pytest

from waypost.resources.webhooks import delivery_limiter
from waypost.resources.webhooks.delivery_limiter import (
    BURST,
    INITIAL_HOST_LIMIT,
    MAX_IN_FLIGHT,
    DeliveryLimiter,
    DueDeliveries,
    WebhookReceiver,
    choose_deliveries,
)

HOST = "victim.example"


@pytest.fixture
def limiter() -> DeliveryLimiter:
    return DeliveryLimiter(monotonic=lambda: 0.0)


def subscriptions(count: int, *, account: UUID | None = None, host: str = HOST) -> list[WebhookReceiver]:
    """Of one account."""
    account = account or uuid4()
    return [WebhookReceiver(uuid4(), account, host) for _ in range(count)]


def make_working(limiter: DeliveryLimiter, receivers: Iterable[WebhookReceiver]) -> None:
    for receiver in receivers:
        for _ in range(MAX_IN_FLIGHT):
            limiter.record_result(receiver, succeeded=True)


def started(
    receivers: Sequence[WebhookReceiver],
    limiter: DeliveryLimiter,
    *,
    due: int = MAX_IN_FLIGHT,
    in_flight: Mapping[WebhookReceiver, int] | None = None,
    limit: int = 256,
) -> list[WebhookReceiver]:
    """In the order in which they start."""
    of = {uuid4(): receiver for receiver in receivers for _ in range(due)}
    queues = [
        DueDeliveries(receiver, [str(id_) for id_, its in of.items() if its is receiver]) for receiver in receivers
    ]
    return [of[id_] for id_ in choose_deliveries(queues, in_flight or {}, limit, limiter)]


def test_starts_a_due_delivery(limiter: DeliveryLimiter) -> None:
    (receiver,) = subscriptions(1)
    assert started([receiver], limiter, due=1) == [receiver]


def test_many_subscriptions_to_one_host_get_no_more_than_one(limiter: DeliveryLimiter) -> None:
    """Twenty subscriptions of an account do not turn one click into twenty concurrent requests."""
    many = subscriptions(20)
    assert len(started(many, limiter, due=1)) == INITIAL_HOST_LIMIT // 2
    make_working(limiter, many)
    assert len(started(many, limiter, due=1)) == MAX_IN_FLIGHT
    assert len(started(many, limiter, in_flight=dict.fromkeys(many[:7], 1))) == MAX_IN_FLIGHT - 7
    assert len(started(many[:1], limiter)) == MAX_IN_FLIGHT


def test_ports_and_paths_are_one_host_and_other_hosts_are_not(limiter: DeliveryLimiter) -> None:
    account = uuid4()
    here, there = subscriptions(5, account=account), subscriptions(5, account=account, host="other.example")
    make_working(limiter, [*here, *there])
    assert Counter(each.host for each in started([*here, *there], limiter)) == {
        HOST: MAX_IN_FLIGHT,
        "other.example": MAX_IN_FLIGHT,
    }


def test_a_rate_for_each_account_at_a_host(limiter: DeliveryLimiter) -> None:
    many, other = subscriptions(20), subscriptions(1)
    make_working(limiter, [*many, *other])
    for _ in range(int(BURST) - 3):
        limiter.record_start(many[0])
    counts = Counter(each.account_id for each in started([*many, *other], limiter))
    assert counts == {many[0].account_id: 3, other[0].account_id: MAX_IN_FLIGHT}


def test_accounts_share_a_host(limiter: DeliveryLimiter, monkeypatch: pytest.MonkeyPatch) -> None:
    """An account with twenty subscriptions gets as many slots as one with a single one, and comes after it."""
    monkeypatch.setattr(delivery_limiter, "MAX_AT_HOST", 12)
    greedy, modest = subscriptions(20), subscriptions(1)
    make_working(limiter, [*greedy, *modest])
    counts = Counter(each.account_id for each in started([*greedy, *modest], limiter))
    assert counts == {greedy[0].account_id: 6, modest[0].account_id: 6}
    held = dict.fromkeys(greedy[:10], 1)
    assert started([*greedy, *modest], limiter, in_flight=held)[:2] == [modest[0]] * 2


def test_hanging_receivers_leave_half_of_a_host_to_the_others(
    limiter: DeliveryLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same account, and of others."""
    monkeypatch.setattr(delivery_limiter, "MAX_AT_HOST", 8)
    hanging = [receiver for _ in range(8) for receiver in subscriptions(1)]
    assert len(started(hanging, limiter)) == 4
    working = subscriptions(1)
    make_working(limiter, working)
    assert started([*hanging, *working], limiter, in_flight=dict.fromkeys(hanging[:4], 1)) == working * 4
    beside = WebhookReceiver(uuid4(), working[0].account_id, HOST)
    assert started([beside, *working], limiter, in_flight={beside: 1})[0] == working[0]


def test_chooses_at_most_the_limit(limiter: DeliveryLimiter) -> None:
    many = [receiver for number in range(10) for receiver in subscriptions(1, host=f"{number}.example")]
    assert len(started(many, limiter, limit=7)) == 7
    assert started(many, limiter, limit=0) == []
