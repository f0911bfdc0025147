"""R9: how much of a subscription may be under way, and whose turn it is."""

from uuid import uuid4

from waypost.resources.webhooks.delivery import pace
from waypost.resources.webhooks.delivery.pace import FIRST, MOST, Pace


def test_it_works() -> None:
    known, receiver = Pace(), uuid4()
    assert known.allows(receiver) == FIRST
    known.note(receiver, succeeded=True)
    assert known.allows(receiver) == FIRST + 1
    assert known.allows(uuid4()) == FIRST


def test_it_stays_between_one_and_the_most() -> None:
    known, receiver = Pace(), uuid4()
    allowed = []
    for succeeded in [False] * 5 + [True] * 40 + [False] * 7:
        known.note(receiver, succeeded=succeeded)
        allowed.append(known.allows(receiver))
    assert allowed[:5] == [1] * 5
    assert allowed[5:45] == [*range(2, MOST), *[MOST] * 10]
    assert allowed[45:] == [16, 8, 4, 2, 1, 1, 1]


def test_proved_is_whose_last_attempt_succeeded() -> None:
    known, receiver = Pace(), uuid4()
    found = [known.is_proved(receiver)]
    known.begun(receiver)
    found.append(known.is_proved(receiver))
    for succeeded in (True, False, True):
        known.note(receiver, succeeded=succeeded)
        found.append(known.is_proved(receiver))
    assert found == [False, False, True, False, True]


def test_who_had_a_turn_last() -> None:
    known, first, second = Pace(), uuid4(), uuid4()
    assert known.last_turn(first) == 0
    known.begun(first)
    known.begun(second)
    assert 0 < known.last_turn(first) < known.last_turn(second)
    known.begun(first)
    assert known.last_turn(first) > known.last_turn(second)


def test_who_was_not_heard_of_for_longest_is_forgotten(monkeypatch) -> None:
    monkeypatch.setattr(pace, "_REMEMBERED", 3)
    known, receivers = Pace(), [uuid4() for _ in range(4)]
    for receiver in receivers[:3]:
        known.note(receiver, succeeded=True)
    known.begun(receivers[0])
    known.note(receivers[3], succeeded=True)
    assert [known.allows(receiver) for receiver in receivers] == [FIRST + 1, FIRST, FIRST + 1, FIRST + 1]
