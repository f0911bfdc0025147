from datetime import timedelta

import pytest
from people import START

from waypost.accounts import Plan, is_plan_active

MOMENT = timedelta(microseconds=1)


def test_plans_are_active_by_type_and_status() -> None:
    assert is_plan_active(Plan("lifetime", None, None, None), START)
    assert not is_plan_active(Plan("none", None, None, None), START)


def test_a_trial_ends_at_its_last_microsecond() -> None:
    trial = Plan("trial", None, START, None)
    assert is_plan_active(trial, START - MOMENT)
    assert not is_plan_active(trial, START)


@pytest.mark.parametrize(
    ("status", "is_active"),
    [("active", True), ("trialing", True), ("past_due", False), ("unpaid", False), ("canceled", False), (None, False)],
)
def test_a_subscription_is_active_by_its_status(status: str | None, is_active: bool) -> None:
    assert is_plan_active(Plan("subscription", status, None, None), START) is is_active
