"""Reads the dates of a column: ISO 8601, other orders, English month names, seconds since 1970, and days of Excel.

What `3/4/2024` means depends on the other dates of its column: all of them are seen before the first one is read.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone

from waypost.kit.clock import EPOCH, parse_timestamp

_FIRST_YEAR, _LAST_YEAR = 1995, 2199
"""Of numbers, and of years with two digits: no short link is older."""
_ORDERS = {"day/month/year": (2, 1, 0), "month/day/year": (2, 0, 1), "year/month/day": (0, 1, 2)}
"""Where year, month and day are."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?"
)
_DATE = re.compile(
    rf"""
    (?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?
    (?: (?P<first>\d{{1,4}})(?P<mark>[-/.])(?P<second>\d{{1,2}})(?P=mark)(?P<third>\d{{1,4}})
      | (?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?[ -]+(?P<month>{_NAMES})\b\.?,?[ -]+(?P<year>\d{{4}}|\d\d)
      | (?P<month_before>{_NAMES})\b\.?\s+(?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year_after>\d{{4}})
    )
    (?:(?:,?\s+(?:at\s+)?|T)(?P<hour>\d{{1,2}}):(?P<minute>\d\d)(?::(?P<seconds>\d\d)(?:[.,]\d{{1,9}})?)?
      (?:\s*(?P<half>[ap])\.?m\.?)?
      \s*(?:(?P<utc>Z|UTC|GMT)|(?:UTC|GMT)?(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))?(?:\s\([^()]+\))?
    )?
    """,
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_ZONE = re.compile(r"(?:Z|[+-]\d{2}(?::?\d{2})?)$", re.IGNORECASE)
_NUMBER = re.compile(r"\d{5}|\d{8,19}|(?:\d{5}|\d{9,10})[.,]\d{1,9}", re.ASCII)
_ZERO = re.compile(r"0|0{8}(?:0{6})?|(?:\d{4}([-/.])(?:00\1\d\d|\d\d\1(?:00))|00([-/.])00\2\d{4})(?:[ T].*)?", re.ASCII)
_FIRST_DAY, _LAST_DAY = 34_700, 99_999
"""Of Excel, which counts from 1900: 1995-01-01, and the last one of five digits."""
_DAY_0 = datetime(1899, 12, 30)  # noqa: DTZ001  # in the time zone of the file
_NOTHING = {"-", "null", "none", "never", "n/a", "nan", "nat", r"\n"}
_EXAMPLE = "2026-01-31T12:00:00Z"


class ZeroDate(ValueError):
    """What a database writes where it has no date: `0000-00-00 00:00:00`, `2020-00-00`, or 0 seconds since 1970."""


class _Ambiguous(ValueError):
    pass


def is_zero_date(text: str) -> bool:
    return bool(_ZERO.fullmatch(text))


class DateColumn:
    def __init__(self) -> None:
        self._orders: frozenset[str] | None = None
        """Those that all of its dates allow. None: no date depends on an order."""

    def see(self, text: str) -> None:
        if text[4:5] != "-" and (match := _match(text)) and match["first"] and len(match["first"]) <= 2:
            orders = frozenset(order for order, _ in _in_each_order(match))
            self._orders = orders if self._orders is None else self._orders & orders

    def read(self, text: str) -> datetime | None:
        """Return None for a word such as `never`. A time that names no zone has none.

        Raises ZeroDate, or ValueError with what is wrong.
        """
        if is_zero_date(text):
            raise ZeroDate(text)
        try:
            return None if text.lower() in _NOTHING else _iso(text) or _number(text) or self._date(text)
        except _Ambiguous:
            raise
        except (ValueError, OverflowError):
            raise ValueError(f"{text[:40]} is not a time such as {_EXAMPLE}.") from None

    def _date(self, text: str) -> datetime:
        """Raises ValueError."""
        if not (match := _match(text)):
            raise ValueError
        day = self._day(match) if match["first"] else _named_day(match)
        hour, half = int(match["hour"] or 0), (match["half"] or "").lower()
        if half and not 1 <= hour <= 12:
            raise ValueError
        if half:
            hour = hour % 12 + (12 if half == "p" else 0)
        at = datetime(day.year, day.month, day.day, hour, int(match["minute"] or 0), int(match["seconds"] or 0))  # noqa: DTZ001
        if match["utc"]:
            return at.replace(tzinfo=UTC)
        if match["sign"]:
            offset = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"]))
            return at.replace(tzinfo=timezone(-offset if match["sign"] == "-" else offset)).astimezone(UTC)
        return at

    def _day(self, match: re.Match[str]) -> date:
        """Raises ValueError."""
        readings = dict(_in_each_order(match))
        if self._orders and len(readings) > 1:
            readings = {order: day for order, day in readings.items() if order in self._orders}
        if len({*readings.values()}) > 1:
            named = " or ".join(f"{day} ({order})" for order, day in readings.items())
            why = "no date of the column shows which" if self._orders else "the column has dates of both kinds"
            raise _Ambiguous(f"{match[0]} is {named}: {why}. Write it as {_EXAMPLE}.")
        if not readings:
            raise ValueError
        return next(iter(readings.values()))


def _match(text: str) -> re.Match[str] | None:
    """Scripts in browsers write a narrow space before AM and PM."""
    return _DATE.fullmatch(text.replace("\u202f", " ").replace("\xa0", " "))


def _iso(text: str) -> datetime | None:
    """Return None for another form."""
    if text[4:5] != "-":
        return None
    try:
        at = parse_timestamp(text)
    except ValueError:
        return None
    return at if _ZONE.search(text, 10) else at.replace(tzinfo=None)


def _number(text: str) -> datetime | None:
    """Return None for what is no number, and a time without a zone for a date. Raises ValueError for other numbers."""
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text.replace(",", "."))
    if _FIRST_DAY <= number < _LAST_DAY + 1:
        return _DAY_0 + timedelta(seconds=round(number * 86_400))
    for found in _readings(text, number):
        if _FIRST_YEAR <= found.year <= _LAST_YEAR:
            return found
    raise ValueError


def _readings(text: str, number: float) -> Iterator[datetime]:
    """Yield what a number may be: a date without marks, or seconds, milli-, micro- or nanoseconds since 1970."""
    form = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}.get(len(text))
    if form:
        with suppress(ValueError):
            yield datetime.strptime(text, form)  # noqa: DTZ007  # in the time zone of the file
    for unit in (1, 1e3, 1e6, 1e9):
        with suppress(OverflowError):
            yield EPOCH + timedelta(seconds=number / unit)


def _in_each_order(match: re.Match[str]) -> Iterator[tuple[str, date]]:
    parts = match["first"], match["second"], match["third"]
    for order, (year, month, day) in _ORDERS.items():
        if len(parts[year]) in {2, 4} and len(parts[month]) <= 2 and len(parts[day]) <= 2:
            with suppress(ValueError):
                yield order, date(_year(parts[year]), int(parts[month]), int(parts[day]))


def _named_day(match: re.Match[str]) -> date:
    """Raises ValueError."""
    name, day = match["month"] or match["month_before"], match["day"] or match["day_after"]
    return date(_year(match["year"] or match["year_after"]), _MONTHS.index(name[:3].lower()) + 1, int(day))


def _year(text: str) -> int:
    year = int(text)
    return year if len(text) > 2 else year + (1900 if year >= _FIRST_YEAR % 100 else 2000)
