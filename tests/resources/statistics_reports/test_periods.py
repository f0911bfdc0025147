"""Which week or month a report is about, and when the next one is sent."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from waypost.resources.statistics_reports import periods


@pytest.mark.parametrize(
    ("period", "zone", "now", "first", "last", "next_at"),
    [
        ("week", "UTC", "2029-12-31T08:00", "2029-12-24", "2029-12-30", "2030-01-07T08:00"),
        ("week", "UTC", "2029-12-31T07:59", "2029-12-24", "2029-12-30", "2029-12-31T08:00"),
        ("week", "UTC", "2030-01-06T23:59", "2029-12-24", "2029-12-30", "2030-01-07T08:00"),
        ("week", "Asia/Tokyo", "2030-01-06T23:00", "2029-12-31", "2030-01-06", "2030-01-13T23:00"),
        ("week", "America/Los_Angeles", "2030-01-07T07:59", "2029-12-24", "2029-12-30", "2030-01-07T16:00"),
        # clocks change: the report comes at the same local time
        ("week", "Europe/Berlin", "2030-03-30T12:00", "2030-03-18", "2030-03-24", "2030-04-01T06:00"),
        ("week", "Europe/Berlin", "2030-10-25T12:00", "2030-10-14", "2030-10-20", "2030-10-28T07:00"),
        ("month", "UTC", "2030-01-01T12:00", "2029-12-01", "2029-12-31", "2030-02-01T08:00"),
        ("month", "UTC", "2030-03-01T08:00", "2030-02-01", "2030-02-28", "2030-04-01T08:00"),
        ("month", "UTC", "2032-03-31T08:00", "2032-02-01", "2032-02-29", "2032-04-01T08:00"),
        ("month", "UTC", "2030-12-31T23:59", "2030-11-01", "2030-11-30", "2031-01-01T08:00"),
        ("month", "Pacific/Auckland", "2030-01-31T12:00", "2030-01-01", "2030-01-31", "2030-01-31T19:00"),
        ("month", "America/New_York", "2030-02-01T04:59", "2029-12-01", "2029-12-31", "2030-02-01T13:00"),
    ],
)
def test_last_days_and_next_time(
    period: periods.ReportPeriod, zone: str, now: str, first: str, last: str, next_at: str
) -> None:
    at = datetime.fromisoformat(now).replace(tzinfo=UTC)
    days = periods.last_days(period, ZoneInfo(zone), at)
    assert (f"{days.first}", f"{days.last}") == (first, last)
    assert periods.next_time(period, ZoneInfo(zone), at) == datetime.fromisoformat(next_at).replace(tzinfo=UTC)


def test_a_range_has_hours_that_clocks_skip_or_repeat() -> None:
    zone = ZoneInfo("Europe/Berlin")
    for first, hours in ((date(2030, 3, 25), 167), (date(2030, 10, 21), 169), (date(2030, 11, 4), 168)):
        week = periods.ReportDays(first, first.replace(day=first.day + 6))
        begin, until = week.range(zone)
        assert (until - begin).total_seconds() == hours * 3600
