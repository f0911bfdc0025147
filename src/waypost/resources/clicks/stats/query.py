"""The query of statistics: time range, interval and time zone. All problems of it are reported together."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast, get_args
from zoneinfo import ZoneInfo

from starlette.datastructures import QueryParams

from waypost.kit.errors import Invalid, Problems
from waypost.resources.clicks.days import TimeRange
from waypost.resources.clicks.filters import check_choice, check_names, check_order, read_time_range
from waypost.resources.clicks.stats.read.buckets import (
    MAX_BUCKETS,
    Bucket,
    Interval,
    TooManyBuckets,
    default_start,
    divide,
    zone_names,
)

NAMES = ("from", "to", "interval", "timezone")
DEFAULT_INTERVAL: Interval = "day"
DEFAULT_ZONE = "UTC"

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class StatsQuery:
    range: TimeRange
    interval: Interval
    timezone: str
    buckets: list[Bucket]


def read_stats_query(given: QueryParams, now: datetime) -> StatsQuery:
    """Raises Invalid."""
    problems = Problems()
    check_names(given, NAMES, problems)
    start, end = read_time_range(given, problems, now)
    for name, at in (("from", start), ("to", end)):
        if at and not _EARLIEST <= at <= _LATEST:
            problems.add(name, f"This must lie between the years {_EARLIEST.year} and {_LATEST.year}.")
    interval, timezone = given.get("interval", DEFAULT_INTERVAL), given.get("timezone", DEFAULT_ZONE)
    check_choice("interval", interval, get_args(Interval), problems)
    if timezone not in zone_names():
        problems.add("timezone", "This must be the name of a time zone, such as Europe/Berlin.")
    problems.raise_if_any()
    end = end or now
    start = start or default_start(end, ZoneInfo(timezone))
    return new_stats_query(TimeRange(start, end), cast(Interval, interval), timezone)


def new_stats_query(time_range: TimeRange, interval: Interval, timezone: str) -> StatsQuery:
    """Raises Invalid."""
    problems = Problems()
    check_order(*time_range, problems)
    problems.raise_if_any()
    try:
        return StatsQuery(time_range, interval, timezone, divide(time_range, interval, ZoneInfo(timezone)))
    except TooManyBuckets:
        most = f"{MAX_BUCKETS[interval]:,} entries"
        message = f"By {interval} this makes more than {most}: choose a longer interval or a shorter time range."
        raise Invalid({"interval": [message]}) from None
