from datetime import timedelta

import pytest
from people import START

from waypost.accounts import Plan

MOMENT = timedelta(microseconds=1)


def test_plans_are_active_by_type_and_status() -> None:
    assert Plan("lifetime", None, None, None).is_active(START)
    assert not Plan("none", None, None, None).is_active(START)


def test_a_trial_ends_at_its_last_microsecond() -> None:
    trial = Plan("trial", None, START, None)
    assert trial.is_active(START - MOMENT)
    assert not trial.is_active(START)


@pytest.mark.parametrize(
    ("status", "is_active"),
    [("active", True), ("trialing", True), ("past_due", False), ("unpaid", False), ("canceled", False), (None, False)],
)
def test_a_subscription_is_active_by_its_status(status: str | None, is_active: bool) -> None:
    assert Plan("subscription", status, None, None).is_active(START) is is_active
