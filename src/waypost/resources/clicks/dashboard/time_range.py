"""Which period, interval and zone a page shows, and what it is compared with. Pure.

Nothing that is picked fails: what cannot be read is told beside its field, and the usual period is shown.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import cast
from zoneinfo import ZoneInfo

from waypost.kit.clock import QUARTER, from_microseconds, microseconds
from waypost.kit.errors import Errors, Invalid
from waypost.resources.clicks.stats.query import DEFAULT_ZONE, Asked, divided
from waypost.resources.clicks.stats.read import buckets
from waypost.resources.clicks.stats.read.buckets import Interval
from waypost.resources.clicks.stats.read.service import Span
from waypost.web.dashboard import Form

PERIODS = {
    "24h": "Last 24 hours",
    "7d": "Last 7 days",
    "30d": "Last 30 days",
    "90d": "Last 90 days",
    "12m": "Last 12 months",
    "all": "All time",
    "custom": "Custom dates",
}
INTERVALS = {"": "Automatic", "hour": "Hours", "day": "Days", "week": "Weeks", "month": "Months"}
DEFAULT = "30d"
ZONES = (
    "UTC", "America/Los_Angeles", "America/Denver", "America/Chicago", "America/New_York", "America/Sao_Paulo",
    "Europe/London", "Europe/Paris", "Europe/Berlin", "Europe/Athens", "Africa/Johannesburg", "Asia/Dubai",
    "Asia/Kolkata", "Asia/Singapore", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland",
)  # fmt: skip
"""Offered without scripts; with them, all that the browser knows."""

_DAYS = {"7d": 7, "30d": 30, "90d": 90}
_MOST = 800
"""Entries of a page's table. Half a year of hours would take long to write and longer to read."""
_DAY = timedelta(days=1)
_EARLIEST, _LATEST = date(1970, 1, 2), date(8999, 12, 31)
_FINEST: tuple[tuple[timedelta, Interval], ...] = (
    (timedelta(days=2, hours=2), "hour"),  # two days, also where clocks are set back
    (timedelta(days=95), "day"),
    (timedelta(days=400), "week"),
)
_TOO_FINE = "For this period these would be too many. Choose a longer interval."


@dataclass(frozen=True, slots=True)
class Chosen:
    asked: Asked
    before: Span | None
    """What is compared with: as long, and just before."""
    form: Form
    """What stands in the fields, and what is wrong there."""
    zone: ZoneInfo
    zones: list[str]

    is_of_today: bool
    """Whether clicks of this moment belong to it."""

    @property
    def told(self) -> str:
        return _told((self.asked.start, self.asked.end), self.zone)

    @property
    def told_before(self) -> str:
        return _told(self.before, self.zone) if self.before else ""


@dataclass(frozen=True, slots=True)
class _Stretch:
    start: datetime
    end: datetime
    before: Span | None
    errors: Errors = field(default_factory=dict)


def chosen(given: Mapping[str, str], *, usual_zone: str, since: datetime, now: datetime) -> Chosen:
    """`usual_zone`: where the query names none. `since`: when all time began."""
    name = _known(given.get("timezone", ""), _known(usual_zone, DEFAULT_ZONE))
    zone = ZoneInfo(name)
    period = given.get("period", DEFAULT)
    period = period if period in PERIODS else DEFAULT
    interval = given.get("interval", "")
    interval = interval if interval in INTERVALS else ""
    dates = _dates(given, now.astimezone(zone).date()) if period == "custom" else {}
    stretch = _custom(dates, zone, now) if dates else _usual(period, zone, since, now)
    asked, errors = _asked(stretch, interval, name)
    fields = {"period": period, "interval": interval, "timezone": name, **dates}
    zones = [*ZONES] if name in ZONES else [name, *ZONES]
    return Chosen(asked, stretch.before, Form(fields, stretch.errors | errors), zone, zones, stretch.end == now)


def _dates(given: Mapping[str, str], today: date) -> dict[str, str]:
    """Who has just chosen to choose them begins with the usual period."""
    if not given.get("from") and not given.get("to"):
        return {"from": f"{today - (_DAYS[DEFAULT] - 1) * _DAY}", "to": f"{today}"}
    return {name: given.get(name, "") for name in ("from", "to")}


def _known(name: str, otherwise: str) -> str:
    return name if name in buckets.zone_names() else otherwise


def _asked(stretch: _Stretch, interval: str, zone: str) -> tuple[Asked, Errors]:
    usual = _interval(stretch.end - stretch.start)
    with suppress(Invalid):  # of tens of thousands
        asked = divided(stretch.start, stretch.end, cast(Interval, interval or usual), zone)
        if len(asked.entries) <= _MOST:
            return asked, {}
    return divided(stretch.start, stretch.end, usual, zone), {"interval": [_TOO_FINE]}


def _interval(length: timedelta) -> Interval:
    return next((interval for longest, interval in _FINEST if length <= longest), "month")


def _usual(period: str, zone: ZoneInfo, since: datetime, now: datetime) -> _Stretch:
    today = now.astimezone(zone).date()
    if period == "24h":
        last = _last(now).astimezone(zone)
        hour = _last(now) - timedelta(minutes=last.minute, seconds=last.second, microseconds=last.microsecond)
        start = hour - timedelta(hours=23)
        return _Stretch(start, now, (start - _DAY, _quarter(now - _DAY)))
    if period == "all":
        first = min(since, _last(now)).astimezone(zone).date()
        return _Stretch(buckets.midnight(first, zone), now, None)
    if period == "12m":
        first = date(today.year - 1, today.month, 1) + 31 * _DAY
        first = first.replace(day=1)
        then = buckets.midnight(_year_before(first), zone), _quarter(_at(_year_before(today), now, zone))
        return _Stretch(buckets.midnight(first, zone), now, _span(*then))
    return _days(today - (_DAYS[period] - 1) * _DAY, _DAYS[period], now, zone)


def _days(first: date, count: int, end: datetime, zone: ZoneInfo) -> _Stretch:
    """`count` days of which the last may not be over; so then is the one compared with."""
    last = _last(end).astimezone(zone).date() - count * _DAY
    is_whole = end == buckets.midnight(last + (count + 1) * _DAY, zone)
    until = buckets.midnight(last + _DAY, zone) if is_whole else _quarter(_at(last, end, zone))
    before = _span(buckets.midnight(first - count * _DAY, zone), until)
    return _Stretch(buckets.midnight(first, zone), end, before)


def _custom(dates: Mapping[str, str], zone: ZoneInfo, now: datetime) -> _Stretch:
    """Both days are part of it."""
    errors: Errors = {}
    first, last = (_day(name, text, errors) for name, text in dates.items())
    if first and last and first > last:
        errors["from"] = ["This must not be after the last day."]
    elif first and first > now.astimezone(zone).date():
        errors["from"] = ["This day has not come yet."]
    if errors or first is None or last is None:
        return replace(_usual(DEFAULT, zone, now, now), errors=errors)
    end = min(now, buckets.midnight(last + _DAY, zone))
    if end <= buckets.midnight(first, zone):  # the very moment at which the first day begins
        return replace(_usual(DEFAULT, zone, now, now), errors={})
    return _days(first, (_last(end).astimezone(zone).date() - first).days + 1, end, zone)


def _day(name: str, text: str, errors: Errors) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        errors[name] = ["Choose a day, such as 2030-01-31."]
        return None
    if not _EARLIEST <= day <= _LATEST:
        errors[name] = [f"This must lie between the years {_EARLIEST.year} and {_LATEST.year}."]
        return None
    return day


def _span(start: datetime, end: datetime) -> Span | None:
    return (start, end) if start < end else None


def _at(day: date, now: datetime, zone: tzinfo) -> datetime:
    """The same time of that day."""
    return datetime.combine(day, now.astimezone(zone).time(), zone).astimezone(UTC)


def _quarter(at: datetime) -> datetime:
    """Where it begins: up to there visitors are added up, and need not be counted from all clicks of the day."""
    return from_microseconds(microseconds(at) // QUARTER * QUARTER)


def _year_before(day: date) -> date:
    return day.replace(year=day.year - 1, day=28) if (day.month, day.day) == (2, 29) else day.replace(year=day.year - 1)


def _last(end: datetime) -> datetime:
    return end - timedelta(microseconds=1)


def _told(span: Span, zone: tzinfo) -> str:
    """Its first and its last day."""
    first, last = (f"{at.astimezone(zone):%-d %b %Y}" for at in (span[0], _last(span[1])))
    return last if first == last else f"{first} to {last}"
