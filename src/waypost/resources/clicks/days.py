"""Conditions on days, which lead every key: each is named, so that the databases seek once a day. Never a range."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Integer, Table, any_, bindparam, func, select, text

from waypost.database import Tx
from waypost.resources.clicks.model import click_retention

_STRIDE = 32
"""Days are looked for in so many at once: a seek for each of a year's would take longer than to read their figures."""

_KNOWN = text(
    "WITH RECURSIVE met (day) AS (SELECT min(day) FROM click_totals UNION ALL"
    " SELECT (SELECT min(day) FROM click_totals WHERE day >= (met.day / :stride + 1) * :stride)"
    " FROM met WHERE day IS NOT NULL)"
    " SELECT day, (SELECT kept_since FROM click_retention) AS kept_since FROM met"
)
"""The first day in each stride of days; the last row has none. One clock that is wrong makes a stride of its own, where
all days between the oldest and the newest could be fifty thousand.
"""


def any_of(tx: Tx, day: ColumnElement[int], days: Sequence[int]) -> ColumnElement[bool]:
    """One parameter, however many the days."""
    if tx.dialect.name == "postgresql":
        return day == any_(bindparam(None, list(days), type_=ARRAY(Integer)))
    each: Any = func.json_each(json.dumps(list(days))).table_valued("value")
    return day.in_(select(each.c.value))


@dataclass(frozen=True, slots=True)
class Known:
    """The days with visits, and perhaps some between without; since `kept_since`, clicks are kept."""

    days: list[int]
    kept_since: int

    def between(self, first: int, last: int) -> list[int]:
        return self.days[bisect_left(self.days, first) : bisect_right(self.days, last)]


async def known(tx: Tx) -> Known:
    rows = (await tx.execute(_KNOWN, {"stride": _STRIDE})).all()
    strides = (range(row.day, (row.day // _STRIDE + 1) * _STRIDE) for row in rows[:-1])
    return Known(list(chain.from_iterable(strides)), rows[-1].kept_since or 0)


async def kept_since(tx: Tx) -> int:
    """The first day of which clicks are kept; 0 when all are."""
    return (await tx.execute(select(click_retention.c.kept_since))).scalar_one_or_none() or 0


async def days_of(tx: Tx, table: Table) -> list[int]:
    """From one to the next: keys begin with the day, so that takes as long with many rows as with few."""
    found: list[int] = []
    day = await tx.scalar(select(func.min(table.c.day)))
    while day is not None:
        found.append(day)
        day = await tx.scalar(select(func.min(table.c.day)).where(table.c.day > day))
    return found
