from datetime import UTC, date, datetime

import pytest

from waypost.kit.clock import timestamp
from waypost.kit.errors import Unreadable
from waypost.kit.preferences import DATE_FORMATS, DEFAULT, NUMBER_FORMATS, Preferences, stored_preferences
from waypost.kit.timezones import reported_zone, zone_choices, zone_names

AT = datetime(2026, 11, 28, 13, 5, 9, tzinfo=UTC)
BERLIN = Preferences("Europe/Berlin")


@pytest.mark.parametrize(
    ("date_format", "texts"),
    [
        ("day_month", ("28 Nov 2026, 14:05", "28 Nov 2026, 14:05:09", "28 Nov", "November 2026")),
        ("month_day", ("Nov 28, 2026, 2:05 PM", "Nov 28, 2026, 2:05:09 PM", "Nov 28", "November 2026")),
        ("iso", ("2026-11-28 14:05", "2026-11-28 14:05:09", "11-28", "2026-11")),
    ],
)
def test_times_in_each_format(date_format: str, texts: tuple[str, ...]) -> None:
    preferences = Preferences("Europe/Berlin", date_format)
    shown = preferences.time(AT), preferences.second(AT), preferences.day_of_year(AT), preferences.month(AT)
    assert shown == texts
    assert date_format in DATE_FORMATS


@pytest.mark.parametrize(
    ("number_format", "texts"),
    [
        ("comma", ("1,234,567", "1,234.5", "12.3k", "1m", "999")),
        ("point", ("1.234.567", "1.234,5", "12,3k", "1m", "999")),
        ("space", ("1\u202f234\u202f567", "1\u202f234,5", "12,3k", "1m", "999")),
    ],
)
def test_numbers_in_each_format(number_format: str, texts: tuple[str, ...]) -> None:
    preferences = Preferences(number_format=number_format)
    short = (preferences.short(count) for count in (12_345, 1_000_000, 999))
    assert (preferences.number(1_234_567), preferences.number(1234.5, 1), *short) == texts
    assert number_format in NUMBER_FORMATS


def test_days_of_a_time_range() -> None:
    first, last, later = date(2026, 11, 24), date(2026, 11, 30), date(2027, 1, 2)
    assert BERLIN.days(first, last) == "24–30 Nov 2026"  # noqa: RUF001
    assert BERLIN.days(first, last, year=2026) == "24–30 Nov"  # noqa: RUF001
    assert BERLIN.days(first, first, year=2026) == "24 Nov"
    assert BERLIN.days(last, date(2026, 12, 3)) == "30 Nov – 3 Dec 2026"  # noqa: RUF001
    assert BERLIN.days(first, later, year=2027) == "24 Nov 2026 – 2 Jan 2027"  # noqa: RUF001
    assert Preferences(date_format="iso").days(first, last) == "2026-11-24 – 2026-11-30"  # noqa: RUF001
    assert Preferences(date_format="month_day").days(first, last, year=2026) == "Nov 24 – Nov 30"  # noqa: RUF001


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Auckland", "America/New_York"])
def test_a_field_shows_what_it_reads(zone: str) -> None:
    preferences = Preferences(zone)
    for at in (
        AT,
        AT.replace(second=0),
        datetime(2026, 3, 29, 0, 59, tzinfo=UTC),
        datetime(2026, 3, 29, 1, tzinfo=UTC),
    ):
        assert preferences.read_field(preferences.field(at)) == timestamp(at)


def test_a_skipped_time_is_refused() -> None:
    assert BERLIN.read_field("2027-03-28T01:59") == "2027-03-28T00:59:00.000000Z"
    skipped = BERLIN.read_field("2027-03-28T02:30")
    assert isinstance(skipped, Unreadable)
    assert skipped == "Clocks in Europe/Berlin skip this time, because they go forward. Enter 03:30, for example."


def test_of_two_equal_times_the_first_is_meant_unless_the_second_was_shown() -> None:
    first, second = datetime(2027, 10, 31, 0, 30, tzinfo=UTC), datetime(2027, 10, 31, 1, 30, tzinfo=UTC)
    assert BERLIN.field(first) == BERLIN.field(second) == "2027-10-31T02:30"
    assert BERLIN.read_field("2027-10-31T02:30") == timestamp(first)
    assert BERLIN.read_field("2027-10-31T02:30", second) == timestamp(second)
    assert BERLIN.read_field("2027-10-31T02:31", second) == timestamp(first.replace(minute=31))


def test_an_unchanged_field_keeps_microseconds() -> None:
    exact = AT.replace(microsecond=123_456)
    assert BERLIN.read_field(BERLIN.field(exact), exact) == timestamp(exact)


@pytest.mark.parametrize("text", ["tomorrow", "2026-02-30T10:00", "9999-12-31T23:59:59", "2026-11-28T14:05Z"])
def test_what_is_no_local_time_is_left_to_the_schema(text: str) -> None:
    assert Preferences("America/New_York").read_field(text) == text


def test_the_last_hours_that_there_are_can_be_shown() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    assert Preferences("Asia/Tokyo").time(last) == "31 Dec 9999, 23:59"
    assert Preferences("America/New_York").time(datetime.min.replace(tzinfo=UTC)) == "1 Jan 1, 00:00"


def test_a_day_begins_where_clocks_are_set_forward_over_midnight() -> None:
    assert Preferences("America/Havana").midnight(date(2015, 3, 8)) == datetime(2015, 3, 8, 5, tzinfo=UTC)


def test_what_is_not_known_becomes_the_default() -> None:
    assert stored_preferences(None, None, None) == DEFAULT
    assert stored_preferences("Mars/Base", "julian", "roman") == DEFAULT
    assert stored_preferences("../etc/passwd", "iso", None) == Preferences(date_format="iso")


def test_zones_to_choose_have_current_names() -> None:
    assert zone_choices()[0] == "UTC"
    assert {"Asia/Kolkata", "Europe/Kyiv", "America/New_York"} <= {*zone_choices()} <= zone_names()
    assert not {"Asia/Calcutta", "US/Pacific"} & {*zone_choices()}
    assert [reported_zone(name) for name in ("Asia/Calcutta", "Europe/Kiev", "Europe/Berlin", "Mars/Base")] == [
        "Asia/Kolkata", "Europe/Kyiv", "Europe/Berlin", "UTC",
    ]  # fmt: skip
