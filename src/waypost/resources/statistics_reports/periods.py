"""Weeks and months that reports are about, and when these are sent. Pure."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal, NamedTuple, get_args

from waypost.kit.timezones import midnight
from waypost.resources.clicks.days import TimeRange

ReportPeriod = Literal["week", "month"]
PERIODS: tuple[ReportPeriod, ...] = get_args(ReportPeriod)
NAMES: dict[ReportPeriod, str] = {"week": "Weekly", "month": "Monthly"}
SEND_TIME = time(8)
"""On a Monday or the first of a month, local time."""

_DAY = timedelta(days=1)


class ReportDays(NamedTuple):
    first: date
    last: date

    def range(self, zone: tzinfo) -> TimeRange:
        return TimeRange(midnight(self.first, zone), midnight(self.last + _DAY, zone))


def last_days(period: ReportPeriod, zone: tzinfo, now: datetime) -> ReportDays:
    """Return the last full week or month."""
    return days_before(period, _start(period, now.astimezone(zone).date()))


def days_before(period: ReportPeriod, start: date) -> ReportDays:
    """Return the week or month that ends before the day on which another one starts."""
    last = start - _DAY
    return ReportDays(_start(period, last), last)


def next_time(period: ReportPeriod, zone: tzinfo, now: datetime) -> datetime:
    """Return when the next report is sent."""
    start = _start(period, now.astimezone(zone).date())
    while (at := datetime.combine(start, SEND_TIME, zone).astimezone(UTC)) <= now:
        start = _start(period, start + (7 if period == "week" else 31) * _DAY)
    return at


def _start(period: ReportPeriod, day: date) -> date:
    return day - day.weekday() * _DAY if period == "week" else day.replace(day=1)
