"""R9: how many attempts may be in flight and how many may start, by subscription and by account at a host."""

from uuid import UUID, uuid4

import pytest

from waypost.resources.webhooks import pace as module
from waypost.resources.webhooks.pace import (
    BURST,
    FIRST,
    FIRST_AT_HOST,
    LEAST_AT_HOST,
    MAX_IN_FLIGHT,
    RATE,
    Pace,
    Target,
)


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(monotonic=clock)


def target(account: UUID | None = None, host: str = "a.example") -> Target:
    return Target(uuid4(), account or uuid4(), host)


def test_starts_with_the_first_limits_and_grows(pace: Pace) -> None:
    receiver, other = target(), target()
    assert (pace.allows(receiver.webhook_id), pace.allows_at_host(receiver.lane)) == (FIRST, FIRST_AT_HOST)
    pace.note(receiver, succeeded=True)
    assert (pace.allows(receiver.webhook_id), pace.allows_at_host(receiver.lane)) == (FIRST + 1, FIRST_AT_HOST + 1)
    assert (pace.allows(other.webhook_id), pace.allows_at_host(other.lane)) == (FIRST, FIRST_AT_HOST)


def test_what_is_in_flight_stays_between_the_least_and_the_most(pace: Pace) -> None:
    receiver, allowed, at_host = target(), list[int](), list[int]()
    for succeeded in [False] * 5 + [True] * 20 + [False] * 5:
        pace.note(receiver, succeeded=succeeded)
        allowed.append(pace.allows(receiver.webhook_id))
        at_host.append(pace.allows_at_host(receiver.lane))
    assert allowed == [1] * 5 + [*range(2, MAX_IN_FLIGHT), *[MAX_IN_FLIGHT] * 12] + [5, 2, 1, 1, 1]
    assert at_host == [LEAST_AT_HOST] * 5 + [*range(3, MAX_IN_FLIGHT), *[MAX_IN_FLIGHT] * 13] + [5, 2, 2, 2, 2]


def test_subscriptions_of_an_account_to_a_host_share_a_lane(pace: Pace) -> None:
    account = uuid4()
    one, same, elsewhere, of_another = target(account), target(account), target(account, "b.example"), target()
    pace.note(one, succeeded=True)
    allowed = [pace.allows_at_host(each.lane) for each in (one, same, elsewhere, of_another)]
    assert allowed == [FIRST_AT_HOST + 1, FIRST_AT_HOST + 1, FIRST_AT_HOST, FIRST_AT_HOST]


def test_proved_is_whose_last_attempt_succeeded(pace: Pace) -> None:
    receiver = target()
    found = [pace.is_working(receiver.webhook_id)]
    pace.begun(receiver)
    found.append(pace.is_working(receiver.webhook_id))
    for succeeded in (True, False, True):
        pace.note(receiver, succeeded=succeeded)
        found.append(pace.is_working(receiver.webhook_id))
    assert found == [False, False, True, False, True]


def test_who_had_a_turn_last(pace: Pace) -> None:
    first, second = target(), target()
    assert pace.last_start(first.webhook_id) == pace.last_start(first.lane) == 0
    pace.begun(first)
    pace.begun(second)
    assert 0 < pace.last_start(first.webhook_id) < pace.last_start(second.webhook_id)
    assert 0 < pace.last_start(first.lane) < pace.last_start(second.lane)
    pace.begun(first)
    assert pace.last_start(first.webhook_id) > pace.last_start(second.webhook_id)


def test_starts_are_limited_by_a_rate(pace: Pace, clock: Clock) -> None:
    receiver = target()
    assert pace.may_start(receiver.lane) == BURST
    for _ in range(int(BURST)):
        pace.begun(receiver)
    assert pace.may_start(receiver.lane) == 0
    assert pace.may_start(target().lane) == BURST
    clock.seconds += 3 / RATE
    assert pace.may_start(receiver.lane) == pytest.approx(3)
    clock.seconds += 3_600
    assert pace.may_start(receiver.lane) == BURST


def test_who_was_not_heard_of_for_longest_is_forgotten(pace: Pace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 6)  # a subscription and a lane each
    receivers = [target() for _ in range(4)]
    for receiver in receivers[:3]:
        pace.note(receiver, succeeded=True)
    pace.begun(receivers[0])
    pace.note(receivers[3], succeeded=True)
    assert [pace.allows(each.webhook_id) for each in receivers] == [FIRST + 1, FIRST, FIRST + 1, FIRST + 1]
