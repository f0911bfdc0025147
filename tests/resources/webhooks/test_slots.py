"""R9: which deliveries may start, among subscriptions of many accounts to one host and to many."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID, uuid4

import pytest

from waypost.resources.webhooks import pace as slots
from waypost.resources.webhooks.pace import BURST, FIRST_AT_HOST, MAX_IN_FLIGHT, DueDeliveries, Pace, Target, share

HOST = "victim.example"


@pytest.fixture
def pace() -> Pace:
    return Pace(monotonic=lambda: 0.0)


def subscriptions(count: int, *, account: UUID | None = None, host: str = HOST) -> list[Target]:
    """Of one account."""
    account = account or uuid4()
    return [Target(uuid4(), account, host) for _ in range(count)]


def proven(pace: Pace, targets: Iterable[Target]) -> None:
    for target in targets:
        for _ in range(MAX_IN_FLIGHT):
            pace.note(target, succeeded=True)


def started(
    targets: Sequence[Target],
    pace: Pace,
    *,
    due: int = MAX_IN_FLIGHT,
    in_flight: Mapping[Target, int] | None = None,
    limit: int = 256,
) -> list[Target]:
    """In the order in which they start."""
    of = {uuid4(): target for target in targets for _ in range(due)}
    queues = [DueDeliveries(target, [str(id_) for id_, its in of.items() if its is target]) for target in targets]
    return [of[id_] for id_ in share(queues, in_flight or {}, limit, pace)]


def test_starts_a_due_delivery(pace: Pace) -> None:
    (target,) = subscriptions(1)
    assert started([target], pace, due=1) == [target]


def test_many_subscriptions_to_one_host_get_no_more_than_one(pace: Pace) -> None:
    """An account's twenty subscriptions do not make twenty requests at once of one click, proven or not."""
    many = subscriptions(20)
    assert len(started(many, pace, due=1)) == FIRST_AT_HOST // 2
    proven(pace, many)
    assert len(started(many, pace, due=1)) == MAX_IN_FLIGHT
    assert len(started(many, pace, in_flight=dict.fromkeys(many[:7], 1))) == MAX_IN_FLIGHT - 7
    assert len(started(many[:1], pace)) == MAX_IN_FLIGHT


def test_ports_and_paths_are_one_host_and_other_hosts_are_not(pace: Pace) -> None:
    account = uuid4()
    here, there = subscriptions(5, account=account), subscriptions(5, account=account, host="other.example")
    proven(pace, [*here, *there])
    assert Counter(each.host for each in started([*here, *there], pace)) == {
        HOST: MAX_IN_FLIGHT,
        "other.example": MAX_IN_FLIGHT,
    }


def test_a_rate_for_each_account_at_a_host(pace: Pace) -> None:
    many, other = subscriptions(20), subscriptions(1)
    proven(pace, [*many, *other])
    for _ in range(int(BURST) - 3):
        pace.begun(many[0])
    counts = Counter(each.account_id for each in started([*many, *other], pace))
    assert counts == {many[0].account_id: 3, other[0].account_id: MAX_IN_FLIGHT}


def test_accounts_share_a_host(pace: Pace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has twenty subscriptions there gets as many slots as whoever has one, and comes after it."""
    monkeypatch.setattr(slots, "MAX_AT_HOST", 12)
    greedy, modest = subscriptions(20), subscriptions(1)
    proven(pace, [*greedy, *modest])
    counts = Counter(each.account_id for each in started([*greedy, *modest], pace))
    assert counts == {greedy[0].account_id: 6, modest[0].account_id: 6}
    held = dict.fromkeys(greedy[:10], 1)
    assert started([*greedy, *modest], pace, in_flight=held)[:2] == [modest[0]] * 2


def test_who_hangs_leaves_half_of_a_host_to_the_others(pace: Pace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same account, and of others."""
    monkeypatch.setattr(slots, "MAX_AT_HOST", 8)
    hanging = [target for _ in range(8) for target in subscriptions(1)]
    assert len(started(hanging, pace)) == 4
    working = subscriptions(1)
    proven(pace, working)
    assert started([*hanging, *working], pace, in_flight=dict.fromkeys(hanging[:4], 1)) == working * 4
    beside = Target(uuid4(), working[0].account_id, HOST)
    assert started([beside, *working], pace, in_flight={beside: 1})[0] == working[0]


def test_no_more_than_there_is_room(pace: Pace) -> None:
    many = [target for number in range(10) for target in subscriptions(1, host=f"{number}.example")]
    assert len(started(many, pace, limit=7)) == 7
    assert started(many, pace, limit=0) == []
