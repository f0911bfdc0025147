"""The time range, interval and time zone that a page shows, and the statistics that it compares with. Pure.

No choice fails: an invalid value is reported at its field, and the default is shown.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import NamedTuple, cast
from zoneinfo import ZoneInfo

from waypost.kit.clock import QUARTER, from_microseconds, microseconds
from waypost.kit.errors import Errors, Invalid
from waypost.kit.preferences import Preferences
from waypost.kit.timezones import midnight
from waypost.resources.clicks.days import TimeRange
from waypost.resources.clicks.stats.query import Interval, StatsQuery, new_stats_query, year_before
from waypost.web.dashboard import Form

PERIODS = {
    "today": "Today",
    "yesterday": "Yesterday",
    "24h": "Last 24 hours",
    "7d": "Last 7 days",
    "30d": "Last 30 days",
    "90d": "Last 90 days",
    "12m": "Last 12 months",
    "all": "All time",
    "custom": "Custom dates",
}
COMPARISONS = {"previous_period": "Previous period", "previous_year": "Previous year", "none": "Nothing"}
INTERVALS = {"": "Automatic", "hour": "Hour", "day": "Day", "week": "Week", "month": "Month"}
DEFAULT = "30d"
ZONES = (
    "UTC", "America/Los_Angeles", "America/Denver", "America/Chicago", "America/New_York", "America/Sao_Paulo",
    "Europe/London", "Europe/Paris", "Europe/Berlin", "Europe/Athens", "Africa/Johannesburg", "Asia/Dubai",
    "Asia/Kolkata", "Asia/Singapore", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland",
)  # fmt: skip
"""Time zones that visitors of shares choose from without scripts. With scripts, the browser adds all that it knows."""

_DAYS = {"7d": 7, "30d": 30, "90d": 90}
_MAX_ROWS = 800
"""Maximum of a page's table. Half a year of hours would take long to render and longer to read."""
_DAY = timedelta(days=1)
_EARLIEST, _LATEST = date(1970, 1, 2), date(8999, 12, 31)
_DEFAULT_INTERVALS: tuple[tuple[timedelta, Interval], ...] = (
    (timedelta(days=2, hours=2), "hour"),  # two days, also where clocks are set back
    (timedelta(days=95), "day"),
    (timedelta(days=400), "week"),
)
_TOO_SHORT = "Too many entries. Choose a longer interval or a shorter time range."


@dataclass(frozen=True, slots=True)
class StatsChoice:
    query: StatsQuery
    comparison: StatsQuery | None
    """As long as the time range: directly before it, or a year earlier."""
    form: Form
    """The values of the fields, and their errors."""
    preferences: Preferences
    """Those of the reader, in the time zone that the query names, if it names one."""
    is_until_now: bool
    """Whether new clicks are in the time range."""

    @property
    def zones(self) -> list[tuple[str, str]]:
        """What visitors of a share choose from."""
        own = self.preferences.timezone
        return [(name, name.replace("_", " ")) for name in ([*ZONES] if own in ZONES else [own, *ZONES])]

    @property
    def dates(self) -> str:
        return " to ".join(dict.fromkeys(map(self.preferences.day, _first_and_last(self.query.range))))

    @property
    def comparison_dates(self) -> str:
        """Without a year, if it is that of what is shown."""
        if self.comparison is None:
            return ""
        year = self.preferences.local(_last(self.query.range.end)).year
        return self.preferences.days(*_first_and_last(self.comparison.range), year=year)


class _Ranges(NamedTuple):
    shown: TimeRange
    comparison: TimeRange | None


def choose(
    parameters: Mapping[str, str],
    preferences: Preferences,
    *,
    since: datetime,
    now: datetime,
    earliest: datetime | None = None,
) -> StatsChoice:
    """`since`: the beginning of all time.

    `earliest`: before `now`. Nothing before it is shown, nor compared with.
    """
    preferences = preferences.in_zone(parameters.get("timezone", ""))
    name, zone = preferences.timezone, preferences.zone
    period = _first_valid(PERIODS, parameters.get("period", ""), DEFAULT)
    interval = _first_valid(INTERVALS, parameters.get("interval", ""), "")
    compare = _first_valid(COMPARISONS, parameters.get("compare", ""), "previous_period")
    dates: dict[str, str] = {}
    errors: Errors = {}
    if period == "custom":
        dates = _custom_dates(parameters, now.astimezone(zone).date())
        ranges, errors = _custom_ranges(dates, zone, now)
    else:
        ranges = _ranges(period, zone, since, now)
    if earliest:
        ranges, earliest_errors = _since(earliest, ranges, preferences, now)
        errors |= earliest_errors
    query, interval_errors = _query(ranges.shown, interval, name)
    fields = {"period": period, "interval": interval, "timezone": name, "compare": compare, **dates}
    comparison = _compare(compare, period, ranges, query)
    if comparison and earliest and comparison.range.start < earliest:
        comparison = None
    form = Form(fields, errors | interval_errors)
    return StatsChoice(query, comparison, form, preferences, ranges.shown.end == now)


def _since(earliest: datetime, ranges: _Ranges, preferences: Preferences, now: datetime) -> tuple[_Ranges, Errors]:
    """Cut off what is before `earliest`."""
    errors: Errors = {}
    start, end = ranges.shown
    if end <= earliest:
        errors["to"] = [f"Statistics are shown from {preferences.day(earliest)} on."]
        start, end = _ranges(DEFAULT, preferences.zone, now, now).shown
    comparison = ranges.comparison if ranges.comparison and ranges.comparison.start >= earliest else None
    return _Ranges(TimeRange(max(start, earliest), end), comparison), errors


def _first_valid(choices: Collection[str], *values: str) -> str:
    return next(value for value in values if value in choices)


def _custom_dates(parameters: Mapping[str, str], today: date) -> dict[str, str]:
    """Return the default period until dates are chosen."""
    if not parameters.get("from") and not parameters.get("to"):
        return {"from": f"{today - (_DAYS[DEFAULT] - 1) * _DAY}", "to": f"{today}"}
    return {name: parameters.get(name, "") for name in ("from", "to")}


def _query(time_range: TimeRange, interval: str, zone: str) -> tuple[StatsQuery, Errors]:
    length = time_range.end - time_range.start
    default: Interval = next((name for longest, name in _DEFAULT_INTERVALS if length <= longest), "month")
    with suppress(Invalid):  # tens of thousands of buckets
        query = new_stats_query(time_range, cast(Interval, interval or default), zone)
        if len(query.buckets) <= _MAX_ROWS:
            return query, {}
    return new_stats_query(time_range, default, zone), {"interval": [_TOO_SHORT]}


def _compare(compare: str, period: str, ranges: _Ranges, query: StatsQuery) -> StatsQuery | None:
    time_range = ranges.comparison
    if compare == "none" or period == "all":
        return None
    if compare == "previous_year":
        zone = ZoneInfo(query.timezone)
        start, end = (_same_time(year_before(at.astimezone(zone).date()), at, zone) for at in ranges.shown)
        time_range = _time_range(start, _quarter(end))
    return new_stats_query(time_range, query.interval, query.timezone) if time_range else None


def _ranges(period: str, zone: ZoneInfo, since: datetime, now: datetime) -> _Ranges:
    today = now.astimezone(zone).date()
    if period == "24h":
        last = _last(now).astimezone(zone)
        hour = _last(now) - timedelta(minutes=last.minute, seconds=last.second, microseconds=last.microsecond)
        start = hour - timedelta(hours=23)
        return _Ranges(TimeRange(start, now), TimeRange(start - _DAY, _quarter(now - _DAY)))
    if period in {"today", "yesterday"}:
        day = _last(now).astimezone(zone).date() - (period == "yesterday") * _DAY
        return _ranges_of_days(day, 1, min(now, midnight(day + _DAY, zone)), zone)
    if period == "all":
        first = min(since, _last(now)).astimezone(zone).date()
        return _Ranges(TimeRange(midnight(first, zone), now), None)
    if period == "12m":
        first = (date(today.year - 1, today.month, 1) + 31 * _DAY).replace(day=1)
        until = _quarter(_same_time(year_before(today), now, zone))
        comparison = _time_range(midnight(year_before(first), zone), until)
        return _Ranges(TimeRange(midnight(first, zone), now), comparison)
    return _ranges_of_days(today - (_DAYS[period] - 1) * _DAY, _DAYS[period], now, zone)


def _ranges_of_days(first: date, count: int, end: datetime, zone: ZoneInfo) -> _Ranges:
    """If the last of the `count` days is not over, the last day of the comparison ends at the same time."""
    last = _last(end).astimezone(zone).date() - count * _DAY
    is_over = end == midnight(last + (count + 1) * _DAY, zone)
    until = midnight(last + _DAY, zone) if is_over else _quarter(_same_time(last, end, zone))
    comparison = _time_range(midnight(first - count * _DAY, zone), until)
    return _Ranges(TimeRange(midnight(first, zone), end), comparison)


def _custom_ranges(dates: Mapping[str, str], zone: ZoneInfo, now: datetime) -> tuple[_Ranges, Errors]:
    """Include both days."""
    errors: Errors = {}
    first, last = (_date(name, text, errors) for name, text in dates.items())
    if first and last and first > last:
        errors["from"] = ["“From” must not be after “To”."]
    elif first and first > now.astimezone(zone).date():
        errors["from"] = ["The first day must not be in the future."]
    if errors or first is None or last is None:
        return _ranges(DEFAULT, zone, now, now), errors
    end = min(now, midnight(last + _DAY, zone))
    if end <= midnight(first, zone):  # now is exactly the beginning of the first day
        return _ranges(DEFAULT, zone, now, now), errors
    count = (_last(end).astimezone(zone).date() - first).days + 1
    return _ranges_of_days(first, count, end, zone), errors


def _date(name: str, text: str, errors: Errors) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        errors[name] = ["Enter a date, such as 2030-01-31."]
        return None
    if not _EARLIEST <= day <= _LATEST:
        errors[name] = [f"Enter a date between the years {_EARLIEST.year} and {_LATEST.year}."]
        return None
    return day


def _time_range(start: datetime, end: datetime) -> TimeRange | None:
    return TimeRange(start, end) if start < end else None


def _same_time(day: date, now: datetime, zone: tzinfo) -> datetime:
    return datetime.combine(day, now.astimezone(zone).time(), zone).astimezone(UTC)


def _quarter(at: datetime) -> datetime:
    """Return the beginning of its quarter of an hour: visitors until then are added up, not counted from clicks."""
    return from_microseconds(microseconds(at) // QUARTER * QUARTER)


def _last(end: datetime) -> datetime:
    return end - timedelta(microseconds=1)


def _first_and_last(time_range: TimeRange) -> tuple[datetime, datetime]:
    return time_range.start, _last(time_range.end)
