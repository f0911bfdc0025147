"""Which figures are asked for: period, interval and zone of a query string, all that is wrong in it told at once."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast, get_args
from zoneinfo import ZoneInfo

from starlette.requests import Request

from waypost.kit.errors import Problems
from waypost.resources.clicks.filters import choice, in_order, only, read_period
from waypost.resources.clicks.stats.read import buckets
from waypost.resources.clicks.stats.read.buckets import MAX_ENTRIES, Entry, Interval, TooMany
from waypost.web import read_query

NAMES = ("from", "to", "interval", "timezone")
DEFAULT_INTERVAL: Interval = "day"
DEFAULT_ZONE = "UTC"

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Asked:
    start: datetime
    end: datetime
    interval: Interval
    timezone: str
    entries: list[Entry]


def read(request: Request, now: datetime) -> Asked:
    """Raises Invalid."""
    problems, given = Problems(), read_query(request)
    only(request, NAMES, problems)
    start, end = read_period(given, problems, now)
    for name, at in (("from", start), ("to", end)):
        if at and not _EARLIEST <= at <= _LATEST:
            problems.add(name, f"This must lie between the years {_EARLIEST.year} and {_LATEST.year}.")
    interval, timezone = given.get("interval", DEFAULT_INTERVAL), given.get("timezone", DEFAULT_ZONE)
    choice("interval", interval, get_args(Interval), problems)
    if timezone not in buckets.zone_names():
        problems.add("timezone", "This must be the name of a time zone, such as Europe/Berlin.")
    problems.raise_if_any()
    end = end or now
    start = start or buckets.default_start(end, ZoneInfo(timezone))
    return divided(start, end, cast(Interval, interval), timezone)


def divided(start: datetime, end: datetime, interval: Interval, timezone: str) -> Asked:
    """Raises Invalid."""
    problems = Problems()
    in_order(start, end, problems)
    problems.raise_if_any()
    try:
        entries = buckets.entries(start, end, interval, ZoneInfo(timezone))
    except TooMany:
        most = f"{MAX_ENTRIES[interval]:,} entries"
        problems.add(
            "interval", f"By {interval} this makes more than {most}: take a longer interval or a shorter period."
        )
    problems.raise_if_any()
    return Asked(start, end, interval, timezone, entries)
