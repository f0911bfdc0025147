"""Division of a time range into local intervals."""

from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kit.clock import parse_timestamp
from waypost.kit.errors import Invalid
from waypost.resources.clicks.days import TimeRange
from waypost.resources.clicks.stats.query import (
    MAX_BUCKETS,
    Bucket,
    Interval,
    default_start,
    divide,
    earlier_query,
    new_stats_query,
)

ZONES = [
    "UTC",
    "Europe/Berlin",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Pacific/Apia",
]
MINUTE = timedelta(minutes=1)
QUARTER = 15 * MINUTE


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def buckets_of(start: datetime, end: datetime, interval: Interval, zone: tzinfo) -> list[Bucket]:
    return divide(TimeRange(start, end), interval, zone)


def starts(start: str, end: str, interval: Interval, zone: str) -> list[str]:
    """In local time, with its offset."""
    found = buckets_of(at(start), at(end), interval, ZoneInfo(zone))
    return [bucket.at.astimezone(ZoneInfo(zone)).strftime("%m-%d %H:%M %z") for bucket in found]


def test_days_of_a_time_range_that_begins_within_one() -> None:
    first, second, third = buckets_of(at("2030-01-01T07:30"), at("2030-01-03T00:00:00.5"), "day", UTC)
    assert (first.at, first.start, first.end) == (at("2030-01-01"), at("2030-01-01T07:30"), at("2030-01-02"))
    assert (second.at, second.start, second.end) == (at("2030-01-02"), at("2030-01-02"), at("2030-01-03"))
    assert (third.at, third.end) == (at("2030-01-03"), at("2030-01-03T00:00:00.5"))


def test_a_day_of_23_hours() -> None:
    assert starts("2026-03-28T12:00", "2026-03-30T12:00", "day", "Europe/Berlin") == [
        "03-28 00:00 +0100",
        "03-29 00:00 +0100",
        "03-30 00:00 +0200",
    ]


def test_weeks_begin_on_monday() -> None:
    assert starts("2026-11-21T00:00", "2026-12-01T00:00", "week", "Asia/Kolkata") == [
        "11-16 00:00 +0530",
        "11-23 00:00 +0530",
        "11-30 00:00 +0530",
    ]


def test_months_begin_on_the_first() -> None:
    assert starts("2028-01-31T23:00", "2028-03-01T00:00", "month", "America/New_York") == [
        "01-01 00:00 -0500",
        "02-01 00:00 -0500",
    ]


def test_an_hour_comes_twice_when_clocks_go_back() -> None:
    assert starts("2026-10-25T00:10", "2026-10-25T02:10", "hour", "Europe/Berlin") == [
        "10-25 02:00 +0200",
        "10-25 02:00 +0100",
        "10-25 03:00 +0100",
    ]


def test_an_hour_is_missing_when_they_go_forward() -> None:
    assert starts("2026-03-29T00:30", "2026-03-29T02:00", "hour", "Europe/Berlin") == [
        "03-29 01:00 +0100",
        "03-29 03:00 +0200",
    ]


def test_half_an_hour_comes_twice() -> None:
    assert starts("2026-04-04T14:00", "2026-04-04T16:20", "hour", "Australia/Lord_Howe") == [
        "04-05 01:00 +1100",
        "04-05 01:30 +1030",
        "04-05 02:00 +1030",
    ]
    begun_inside = buckets_of(at("2026-04-04T15:10"), at("2026-04-04T15:20"), "hour", ZoneInfo("Australia/Lord_Howe"))
    assert [bucket.at for bucket in begun_inside] == [at("2026-04-04T15:00")]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("year", [1975, 1986, 2026])
def test_hours_begin_at_full_local_hours(zone: str, year: int) -> None:
    """At each full hour, and where clocks are changed; which in these years they were at quarters of an hour."""
    start, end = at(f"{year}-01-01T00:15"), at(f"{year}-06-30")
    for begin, until in ((start, end), (end, at(f"{year}-12-31"))):
        quarters = [begin + QUARTER * count for count in range((until - begin) // QUARTER)]
        clocks = [quarter.astimezone(ZoneInfo(zone)) for quarter in quarters]
        begins = [
            quarter
            for quarter, clock, before in zip(quarters[1:], clocks[1:], clocks[:-1], strict=True)
            if clock.minute == 0 or clock.utcoffset() != before.utcoffset()
        ]
        assert [bucket.start for bucket in buckets_of(begin, until, "hour", ZoneInfo(zone))] == [begin, *begins]


def test_a_midnight_that_is_skipped() -> None:
    """In Sao Paulo the day then began at one."""
    assert starts("2018-11-03T12:00", "2018-11-05T12:00", "day", "America/Sao_Paulo") == [
        "11-03 00:00 -0300",
        "11-04 01:00 -0200",
        "11-05 00:00 -0200",
    ]


def test_a_midnight_that_comes_twice() -> None:
    """One minute after midnight, clocks in St. John's went back to the evening before."""
    assert starts("2010-11-06T12:00", "2010-11-07T12:00", "day", "America/St_Johns") == [
        "11-06 00:00 -0230",
        "11-07 00:00 -0230",
    ]


def test_a_date_that_a_zone_skipped() -> None:
    assert starts("2011-12-29T12:00", "2012-01-01T00:00", "day", "Pacific/Apia") == [
        "12-29 00:00 -1000",
        "12-31 00:00 +1400",
        "01-01 00:00 +1400",
    ]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("end", ["2026-11-01T00:00", "2026-11-01T13:37", "2026-03-29T22:30"])
def test_the_default_is_thirty_days(zone: str, end: str) -> None:
    start = default_start(at(end), ZoneInfo(zone))
    found = buckets_of(start, at(end), "day", ZoneInfo(zone))
    assert (len(found), found[0].at) == (30, start)


def test_all_of_time_by_day_but_not_by_hour() -> None:
    assert len(buckets_of(at("1970-01-01"), at("2026-11-21"), "day", ZoneInfo("Europe/Berlin"))) > 20_000
    with pytest.raises(Invalid):
        buckets_of(at("1970-01-01"), at("2026-11-21"), "hour", UTC)


@pytest.mark.parametrize(("interval", "length"), [("hour", timedelta(hours=1)), ("day", timedelta(days=1))])
def test_the_number_of_buckets_is_limited(interval: Interval, length: timedelta) -> None:
    end = at("2020-01-01") + length * MAX_BUCKETS[interval]
    assert len(buckets_of(at("2020-01-01"), end, interval, UTC)) == MAX_BUCKETS[interval]
    with pytest.raises(Invalid):
        buckets_of(at("2020-01-01"), end + MINUTE, interval, UTC)


@given(
    st.datetimes(datetime(1975, 1, 1), datetime(2040, 1, 1)),
    st.timedeltas(timedelta(microseconds=1), timedelta(days=180)),
    st.sampled_from(["hour", "day", "week", "month"]),
    st.sampled_from(ZONES),
)
def test_buckets_cover_the_time_range_once(naive: datetime, length: timedelta, interval: Interval, name: str) -> None:
    start, zone = naive.replace(tzinfo=UTC), ZoneInfo(name)
    found = buckets_of(start, start + length, interval, zone)
    assert (found[0].start, found[-1].end) == (start, start + length)
    assert all(before.end == after.start == after.at for before, after in pairwise(found))
    assert found[0].at <= start
    longest = {"hour": 1, "day": 26, "week": 7 * 24 + 2, "month": 31 * 24 + 2}[interval]  # St. John's, 1988
    assert all(bucket.end - bucket.start <= timedelta(hours=longest) for bucket in found)


@pytest.mark.parametrize(
    ("zone", "asked", "comparison", "expected"),
    [
        ("UTC", "2029-11-01T00:00/2029-11-20T09:30", "previous_period", "2029-10-12T00:00/2029-10-31T09:30"),
        ("UTC", "2029-11-01T00:00/2029-12-01T00:00", "previous_period", "2029-10-02T00:00/2029-11-01T00:00"),
        ("UTC", "2029-11-01T10:00/2029-11-01T12:00", "previous_period", "2029-10-31T10:00/2029-10-31T12:00"),
        # clocks are set back in between: the same local times
        ("Europe/Berlin", "2029-10-31T23:00/2029-11-02T08:00", "previous_period", "2029-10-29T23:00/2029-10-31T08:00"),
        ("Europe/Berlin", "2029-10-28T23:00/2029-10-30T23:00", "previous_period", "2029-10-26T22:00/2029-10-28T23:00"),
        ("UTC", "2028-02-29T00:00/2028-03-01T00:00", "previous_year", "2027-02-28T00:00/2027-03-01T00:00"),
        ("UTC", "2028-02-28T00:00/2028-02-29T06:00", "previous_year", "2027-02-28T00:00/2027-02-28T06:00"),
        ("Europe/Berlin", "2029-03-26T22:00/2029-03-28T22:00", "previous_year", "2028-03-26T22:00/2028-03-28T22:00"),
        # 20 minutes that begin before and end after clocks are set back
        ("Europe/Berlin", "2029-10-28T00:50/2029-10-28T01:10", "previous_period", "2029-10-27T00:50/2029-10-27T01:10"),
    ],
)
def test_earlier_time_ranges_begin_and_end_at_the_same_times(
    zone: str, asked: str, comparison: Any, expected: str
) -> None:
    start, end = (parse_timestamp(f"{text}Z") for text in asked.split("/"))
    earlier = earlier_query(new_stats_query(TimeRange(start, end), "hour", zone), comparison)
    assert "/".join(f"{at:%Y-%m-%dT%H:%M}" for at in earlier.range) == expected
    assert (earlier.buckets[0].start, earlier.buckets[-1].end) == earlier.range


@pytest.mark.parametrize(("start", "end"), [("1971-01-01", "1999-01-01"), ("1970-01-01", "3990-01-01")])
def test_nothing_is_compared_with_the_time_before_1970(start: str, end: str) -> None:
    time_range = TimeRange(parse_timestamp(start), parse_timestamp(end))
    with pytest.raises(Invalid) as raised:
        earlier_query(new_stats_query(time_range, "month", "UTC"), "previous_period")
    assert raised.value.errors.keys() == {"compare"}
