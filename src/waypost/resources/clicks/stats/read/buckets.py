"""Into which local hours, days, weeks and months a period falls. Pure: zones and moments in, moments in UTC out.

A day begins at its first midnight, or where a clock set forward skips it. An hour is a real one: the repeated hour at
the end of daylight saving time appears twice, and where clocks move by half an hour, so does a half.
"""

import functools
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import pairwise
from typing import Literal, NamedTuple

Interval = Literal["hour", "day", "week", "month"]

MAX_ENTRIES: dict[Interval, int] = {"hour": 4_500, "day": 25_000, "week": 25_000, "month": 25_000}
"""Half a year of hours, and all of time in days: nobody else is answered while a series is written."""
DEFAULT_DAYS = 30

_HOUR = timedelta(hours=1)
_HOURS = tuple(_HOUR * count for count in range(24))
_NOT_ZONES = {"localtime", "Factory"}
"""Where the machine stands, and where nobody does."""


class TooMany(Exception):
    """The period has more than MAX_ENTRIES of these intervals."""


class Entry(NamedTuple):
    at: datetime
    """Where the local interval begins, also when the period begins inside it."""
    start: datetime
    end: datetime
    """What of it lies in the period, the end left out."""


@functools.cache
def zone_names() -> frozenset[str]:
    """Looked up once: it reads directories."""
    return frozenset(zoneinfo.available_timezones() - _NOT_ZONES)


def default_start(end: datetime, zone: tzinfo) -> datetime:
    """The local midnight from which on there are DEFAULT_DAYS days, the last of them being the period's last."""
    last = (end - timedelta(microseconds=1)).astimezone(zone).date()
    return midnight(last - timedelta(days=DEFAULT_DAYS - 1), zone)


def midnight(day: date, zone: tzinfo) -> datetime:
    # a skipped midnight is read with the offset before the gap, which is the moment of the change
    return datetime.combine(day, time(), zone).astimezone(UTC)


def entries(start: datetime, end: datetime, interval: Interval, zone: tzinfo) -> list[Entry]:
    """Every local interval that meets the period, in order. Raises TooMany."""
    found: list[Entry] = []
    begins = _hours(start, zone) if interval == "hour" else _dates(start, interval, zone)
    for at, until in pairwise(begins):
        if at >= end:
            break
        if until <= start or until <= at:  # a date that a zone skipped when it changed sides of the date line
            continue
        if len(found) == MAX_ENTRIES[interval]:
            raise TooMany
        found.append(Entry(at, max(start, at), min(end, until)))
    return found


def _dates(start: datetime, interval: Interval, zone: tzinfo) -> Iterator[datetime]:
    day = start.astimezone(zone).date()
    if interval == "week":
        day -= timedelta(days=day.weekday())
    elif interval == "month":
        day = day.replace(day=1)
    while True:
        yield midnight(day, zone)
        day = _following(day, interval)


def _following(day: date, interval: Interval) -> date:
    if interval == "month":
        return (day + timedelta(days=31)).replace(day=1)
    return day + timedelta(days=7 if interval == "week" else 1)


def _hours(start: datetime, zone: tzinfo) -> Iterator[datetime]:
    at = _hour_of(start, zone)
    while True:
        if _is_plain(at, zone):
            yield from (at + hours for hours in _HOURS)
            at += timedelta(days=1)
        else:
            yield at
            at = _next_hour(at, zone)


def _is_plain(at: datetime, zone: tzinfo) -> bool:
    """Whether the next 24 hours are each as long as the other: asking the zone about each takes far longer."""
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


def _change(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The second in which the zone's offset changes between the two."""
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
