"""UTC days: which have clicks, how time ranges divide into them, and SQL conditions on them.

Days lead every key. A statement names each day that it reads, never a range, so that the databases seek once a day.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, pairwise
from typing import Any, NamedTuple

from sqlalchemy import ARRAY, ColumnElement, Table, any_, bindparam, func, select, text

from waypost.database import Tx, upsert
from waypost.kit.clock import DAY, QUARTER, from_microseconds, microseconds
from waypost.resources.clicks.model import click_retention, clicks

HOUR = 4 * QUARTER
_LAST_QUARTER = 95
_MAX_TIME = 4_000_000 * DAY  # in the 130th century

_STRIDE = 32
"""Days found by one seek: to seek each day of a year would take longer than to read its totals."""

_KNOWN_DAYS_QUERY = text(
    "WITH RECURSIVE found (day) AS (SELECT min(day) FROM click_totals UNION ALL"
    " SELECT (SELECT min(day) FROM click_totals WHERE day >= (found.day / :stride + 1) * :stride)"
    " FROM found WHERE day IS NOT NULL)"
    " SELECT day, (SELECT kept_since FROM click_retention) AS kept_since FROM found"
)
"""The first day in each stride; the last row has none. One wrong clock adds one stride, where all days between the
oldest and the newest could be fifty thousand.
"""


TOTAL_BUCKET = -1


class TimeRange(NamedTuple):
    start: datetime
    end: datetime
    """Not included."""


class DaySlice(NamedTuple):
    bucket: int
    """Index of the bucket that it counts for, or TOTAL_BUCKET."""
    day: int
    """Since 1970, in UTC."""
    begin: int
    end: int
    """Microseconds since 1970; the end is not included."""

    @property
    def first_quarter(self) -> int:
        return (self.begin - self.day * DAY) // QUARTER

    @property
    def last_quarter(self) -> int:
        """The last quarter that it touches."""
        return (self.end - 1 - self.day * DAY) // QUARTER

    @property
    def is_whole_day(self) -> bool:
        return self.end - self.begin == DAY

    @property
    def has_quarter_totals(self) -> bool:
        """Whether the totals of its quarters of an hour add up to exact ones, visitors included.

        They do for the beginning and the end of a day, and for an hour.
        """
        if self.begin % QUARTER or self.end % QUARTER:
            return False
        first, last = self.first_quarter, self.last_quarter
        return first == 0 or last == _LAST_QUARTER or last - first < 4

    @property
    def time_range(self) -> TimeRange:
        return TimeRange(from_microseconds(self.begin), from_microseconds(self.end))

    def divide(self, count: int) -> "list[DaySlice]":
        """Return parts of equal length."""
        boundaries = [self.begin + n * (self.end - self.begin) // count for n in range(count + 1)]
        return [self._replace(begin=begin, end=end) for begin, end in pairwise(boundaries)]

    def hours(self) -> "Iterator[DaySlice]":
        """Yield the parts of the slice in each hour, of which the first and the last may be shorter."""
        for hour in range(self.begin // HOUR, -(-self.end // HOUR)):
            yield self._replace(begin=max(self.begin, hour * HOUR), end=min(self.end, (hour + 1) * HOUR))

    def cheaper_half(self, clicks_of_day: int) -> "SignedSlice":
        """Return the slice to add, or the rest of its day to subtract, whichever is shorter."""
        midnight, next_midnight = self.day * DAY, (self.day + 1) * DAY
        if self.begin == midnight and self.end - midnight > DAY // 2:
            return SignedSlice(-1, self._replace(begin=self.end, end=next_midnight), clicks_of_day)
        if self.end == next_midnight and next_midnight - self.begin > DAY // 2:
            return SignedSlice(-1, self._replace(begin=midnight, end=self.begin), clicks_of_day)
        return SignedSlice(1, self, clicks_of_day)


@dataclass(slots=True)
class PageSlice:
    """A part of a page: the clicks of some days, of which it skips the newest and takes the next ones."""

    days: list[DaySlice]
    skip: int
    take: int


class SignedSlice(NamedTuple):
    sign: int
    """1 to add the slice, -1 to subtract it from its day."""
    day_slice: DaySlice
    clicks_of_day: int = 0
    """Of the subject on the whole day, if they matter."""


def day_of(at: datetime) -> int:
    return microseconds(at) // DAY


def slice_by_day(bucket: int, begin: int, end: int, days: Sequence[int]) -> Iterator[DaySlice]:
    """Yield a slice for each of `days` (in order) between the microseconds `begin` and `end`."""
    for index in range(bisect_left(days, begin // DAY), len(days)):
        day = days[index]
        if day * DAY >= end:
            return
        yield DaySlice(bucket, day, max(begin, day * DAY), min(end, (day + 1) * DAY))


def slice_between(start: datetime | None, end: datetime | None, days: Sequence[int]) -> list[DaySlice]:
    until = microseconds(end) if end else _MAX_TIME
    return [*slice_by_day(0, microseconds(start) if start else 0, until, days)]


def in_values(tx: Tx, column: ColumnElement[Any], values: Collection[Any]) -> ColumnElement[bool]:
    """SQL condition: the column has one of the values. Sends them as one parameter."""
    if tx.dialect.name == "postgresql":
        return column == any_(bindparam(None, list(values), type_=ARRAY(column.type)))
    table: Any = func.json_each(json.dumps(list(values))).table_valued("value")
    return column.in_(select(table.c.value))


@dataclass(frozen=True, slots=True)
class KnownDays:
    days: list[int]
    """The days with visits, in order, and perhaps days without any between them."""
    kept_since: int
    """The first day of which clicks are kept."""

    def between(self, first: int, last: int) -> list[int]:
        return self.days[bisect_left(self.days, first) : bisect_right(self.days, last)]


async def find_known_days(tx: Tx) -> KnownDays:
    rows = (await tx.execute(_KNOWN_DAYS_QUERY, {"stride": _STRIDE})).all()
    strides = (range(row.day, (row.day // _STRIDE + 1) * _STRIDE) for row in rows[:-1])
    return KnownDays(list(chain.from_iterable(strides)), rows[-1].kept_since or 0)


async def find_kept_since(tx: Tx) -> int:
    """Return the first day of which clicks are kept; 0 if all are kept."""
    return (await tx.execute(select(click_retention.c.kept_since))).scalar_one_or_none() or 0


async def raise_kept_since(tx: Tx, day: int) -> None:
    """Never lower it: rows of earlier days are deleted."""
    statement = upsert(tx, click_retention).values(id=1, kept_since=day)
    is_later = statement.excluded.kept_since > click_retention.c.kept_since
    await tx.execute(statement.on_conflict_do_update(index_elements=["id"], set_={"kept_since": day}, where=is_later))


def within(day_slice: DaySlice) -> list[ColumnElement[bool]]:
    """SQL conditions: the click is in the slice."""
    (start, end), at = day_slice.time_range, clicks.c.created_at
    return [clicks.c.day == day_slice.day, *([] if day_slice.is_whole_day else [at >= start, at < end])]


async def find_days(tx: Tx, table: Table) -> list[int]:
    """Return the days in a table whose key begins with the day: one seek for each."""
    days: list[int] = []
    day = await tx.scalar(select(func.min(table.c.day)))
    while day is not None:
        days.append(day)
        day = await tx.scalar(select(func.min(table.c.day)).where(table.c.day > day))
    return days
