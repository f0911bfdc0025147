"""The query of statistics: its time range, divided into local hours, days, weeks or months. Pure.

All problems of a query are reported together.

A day begins at its first midnight, or where clocks are set forward over it. An hour has 60 minutes: the repeated hour
at the end of daylight saving time is two buckets, and where clocks move by half an hour, so is that half hour.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, cast, get_args
from zoneinfo import ZoneInfo

from waypost.kit.clock import from_microseconds, microseconds
from waypost.kit.errors import Invalid, Problems
from waypost.kit.timezones import UTC_NAME, midnight, zone_names
from waypost.resources.clicks.days import TimeRange
from waypost.resources.clicks.filters import NO_FILTERS, FilterName, Filters
from waypost.resources.clicks.parameters import check_choice, check_names, check_order, read_time_range

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

D = TypeVar("D", bound=date)

Interval = Literal["hour", "day", "week", "month"]

MAX_BUCKETS: dict[Interval, int] = {"hour": 4_500, "day": 25_000, "week": 25_000, "month": 25_000}
"""Half a year of hours, or all days from 1970 on: a series holds up all other requests while it is written."""
DEFAULT_DAYS = 30

_HOUR = timedelta(hours=1)
_HOURS = tuple(_HOUR * count for count in range(24))

Comparison = Literal["previous_period", "previous_year"]
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)

NAMES = ("from", "to", "interval", "timezone", "compare", "visitors", "list")
"""The parameters besides filters."""
DEFAULT_INTERVAL: Interval = "day"

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_BEFORE = EARLIEST - timedelta(days=1)
LATEST = datetime(9000, 1, 1, tzinfo=UTC)
"""Of time ranges."""


class Bucket(NamedTuple):
    at: datetime
    """The beginning of the local interval, also when the time range begins within it."""
    start: datetime
    end: datetime
    """The part of the interval in the time range; the end is not included."""


@dataclass(frozen=True, slots=True)
class StatsQuery:
    range: TimeRange
    interval: Interval
    timezone: str
    buckets: list[Bucket]
    filters: Filters = NO_FILTERS
    comparison: "StatsQuery | None" = None
    """The query of an earlier time range."""
    has_visitors: bool = False
    """Whether lists have the visitors of each value."""


def read_stats_query(
    parameters: "QueryParams", names: Collection[FilterName], problems: Problems, now: datetime
) -> StatsQuery:
    """`names`: of the filters. `problems`: those found before. Raises Invalid."""
    check_names(parameters, [*NAMES, *names], problems)
    start, end = read_time_range(parameters, problems, now)
    for name, at in (("from", start), ("to", end)):
        if at and not EARLIEST <= at <= LATEST:
            problems.add(name, f"This must lie between the years {EARLIEST.year} and {LATEST.year}.")
    interval, timezone = parameters.get("interval", DEFAULT_INTERVAL), parameters.get("timezone", UTC_NAME)
    check_choice("interval", interval, get_args(Interval), problems)
    if timezone not in zone_names():
        problems.add("timezone", "This must be the name of a time zone, such as Europe/Berlin.")
    compare, visitors = parameters.get("compare"), parameters.get("visitors", "false")
    check_choice("compare", compare or COMPARISONS[0], COMPARISONS, problems)
    check_choice("visitors", visitors, ("true", "false"), problems)
    filters = Filters.read(parameters.multi_items(), names, problems)
    problems.raise_if_any()
    end = end or now
    start = start or default_start(end, ZoneInfo(timezone))
    query = new_stats_query(TimeRange(start, end), cast(Interval, interval), timezone)
    query = replace(query, filters=filters, has_visitors=visitors == "true")
    return replace(query, comparison=earlier_query(query, cast(Comparison, compare))) if compare else query


def new_stats_query(time_range: TimeRange, interval: Interval, timezone: str) -> StatsQuery:
    """Raises Invalid."""
    problems = Problems()
    check_order(*time_range, problems)
    problems.raise_if_any()
    return StatsQuery(time_range, interval, timezone, divide(time_range, interval, ZoneInfo(timezone)))


def earlier_query(query: StatsQuery, comparison: Comparison) -> StatsQuery:
    """Return the query of the time range to compare with, which begins and ends at the same times of day.

    Raises Invalid. The previous period is so many days earlier that it ends at the beginning of this one, or before.
    """
    zone = ZoneInfo(query.timezone)
    first, last = (at.astimezone(zone).replace(tzinfo=None) for at in query.range)
    days = max(timedelta(days=1), -((first - last) // timedelta(days=1)) * timedelta(days=1))
    try:
        if comparison == "previous_period":
            first, last = first - days, last - days
        else:
            first, last = year_before(first), year_before(last)
        start, end = (at.replace(tzinfo=zone).astimezone(UTC) for at in (first, last))
    except OverflowError:
        start = end = _BEFORE
    if start < EARLIEST:
        raise Invalid(
            {"compare": [f"There is no earlier time range to compare with: it begins before {EARLIEST.year}."]}
        )
    if start >= end:  # clocks were set back within the time range
        end = start + (query.range.end - query.range.start)
    return replace(new_stats_query(TimeRange(start, end), query.interval, query.timezone), filters=query.filters)


def year_before(at: D) -> D:
    return at.replace(year=at.year - 1, day=28) if (at.month, at.day) == (2, 29) else at.replace(year=at.year - 1)


def default_start(end: datetime, zone: tzinfo) -> datetime:
    """Return the local midnight DEFAULT_DAYS days before the end of the last day."""
    last = (end - timedelta(microseconds=1)).astimezone(zone).date()
    return midnight(last - timedelta(days=DEFAULT_DAYS - 1), zone)


def divide(time_range: TimeRange, interval: Interval, zone: tzinfo) -> list[Bucket]:
    """Raises Invalid."""
    start, end = time_range
    buckets: list[Bucket] = []
    begins = _hours(start, zone) if interval == "hour" else _dates(start, interval, zone)
    for at, until in pairwise(begins):
        if at >= end:
            break
        if until <= start or until <= at:  # a date that a zone skipped when it crossed the date line
            continue
        if len(buckets) == MAX_BUCKETS[interval]:
            limit = f"{MAX_BUCKETS[interval]:,} {interval}s"
            message = f"This time range has more than {limit}. Choose a longer interval or a shorter time range."
            raise Invalid({"interval": [message]})
        buckets.append(Bucket(at, max(start, at), min(end, until)))
    return buckets


def _dates(start: datetime, interval: Interval, zone: tzinfo) -> Iterator[datetime]:
    day = start.astimezone(zone).date()
    if interval == "week":
        day -= timedelta(days=day.weekday())
    elif interval == "month":
        day = day.replace(day=1)
    while True:
        yield midnight(day, zone)
        day = _next_date(day, interval)


def _next_date(day: date, interval: Interval) -> date:
    if interval == "month":
        return (day + timedelta(days=31)).replace(day=1)
    return day + timedelta(days=7 if interval == "week" else 1)


def _hours(start: datetime, zone: tzinfo) -> Iterator[datetime]:
    at = _hour_of(start, zone)
    while True:
        if _has_plain_hours(at, zone):
            yield from (at + hours for hours in _HOURS)
            at += timedelta(days=1)
        else:
            yield at
            at = _next_hour(at, zone)


def _has_plain_hours(at: datetime, zone: tzinfo) -> bool:
    """Whether the next 24 hours have no change of clocks: asking the zone about each hour takes far longer."""
    local = at.astimezone(zone)
    return local.minute == local.second == 0 and _offset(at + timedelta(days=1), zone) == local.utcoffset()


def _hour_of(at: datetime, zone: tzinfo) -> datetime:
    local = at.astimezone(zone)
    begin = at - timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
    return begin if _offset(begin, zone) == local.utcoffset() else _change(begin, at, zone)


def _next_hour(at: datetime, zone: tzinfo) -> datetime:
    local = at.astimezone(zone)
    end = at + _HOUR - timedelta(minutes=local.minute, seconds=local.second)
    return end if _offset(end, zone) == local.utcoffset() else _change(at, end, zone)


def offset_of(at: int, zone: tzinfo) -> int:
    """Return the zone's offset in microseconds at a time in microseconds."""
    return (_offset(from_microseconds(at), zone) or timedelta()) // timedelta(microseconds=1)


def change_of_offset(begin: int, end: int, zone: tzinfo) -> int:
    """Return the time between the two, in microseconds, at which the zone's offset changes."""
    return microseconds(_change(from_microseconds(begin), from_microseconds(end), zone))


def _change(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """Return the second between the two in which the zone's offset changes."""
    low, high, offset = int(before.timestamp()), int(after.timestamp()), _offset(before, zone)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(datetime.fromtimestamp(middle, UTC), zone) == offset:
            low = middle
        else:
            high = middle
    return datetime.fromtimestamp(high, UTC)


def _offset(at: datetime, zone: tzinfo) -> timedelta | None:
    return at.astimezone(zone).utcoffset()
