"""Counts the values of clicks on parts of days: of whole hours from a cache if they are there, of the rest from clicks.

Only clicks say at which time of the day a value was seen. A busy day has tens of thousands. So the worker counts the
hours of those days on which time ranges of the dashboard begin in other time zones (`hour_values_cache`). Clicks only
grow, so an hour is unchanged if it has as many clicks as when it was counted.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    ColumnElement,
    Executable,
    Integer,
    Select,
    String,
    bindparam,
    cast,
    column,
    func,
    literal,
    select,
    text,
    union_all,
)
from sqlalchemy.dialects import postgresql

from waypost.database import Id, Tx
from waypost.kit.clock import DAY
from waypost.resources.clicks.days import HOUR, DaySlice, SignedSlice, within
from waypost.resources.clicks.model import DIMENSIONS, HUMAN, Dimension, Subject, clicks

AGENT = ("device", "browser", "platform")
"""The parts of a value of the dimension `agent`, in this order."""

ValueCounts = dict[str, Counter[str]]
"""Clicks of each value, by dimension; instead of `agent`, by each of AGENT."""

_MAX_CLICKS_OF_DAY = 100_000
"""A statement that counts half of them takes a fifth of a second, and is interrupted after two."""
_MAX_VALUES = 50_000
"""Of a list. Visitors can invent any number of referrers, and other visits wait while these are added up."""

_CACHED_HOURS = (
    text(
        "SELECT hour, value_counts FROM hour_values_cache AS cached"
        " WHERE subject_id = :subject AND day = :day AND hour BETWEEN :first AND :last AND clicks = ("
        "SELECT SUM(clicks) FROM click_totals AS totals WHERE totals.day = cached.day"
        " AND totals.subject_id = cached.subject_id AND quarter BETWEEN cached.hour * 4 AND cached.hour * 4 + 3)"
    )
    .bindparams(bindparam("subject", type_=Id))
    .columns(column("hour"), column("value_counts"))
)


async def sum_partial_days(
    tx: Tx, subject: Subject, partial_days: Sequence[SignedSlice], limit: int
) -> ValueCounts | None:
    """Count the clicks of each value. Return None if a list has too many that are not cached.

    Too many are `limit` in one statement, or _MAX_VALUES in all.
    """
    counts, to_count = await _sum_cached_hours(tx, subject, partial_days)
    for slices in _statements(to_count):
        counted = await count_values(tx, subject, slices, limit)
        if any(len(values) >= limit for values in counted.values()):
            return None
        for name, values in counted.items():
            counts[name].update(values)
            if len(counts[name]) >= _MAX_VALUES:
                return None
    return counts


async def count_values(tx: Tx, subject: Subject, partial_days: Sequence[SignedSlice], limit: int) -> ValueCounts:
    """Count the clicks of `limit` values of each list, and of all of AGENT, from click rows."""
    lists = []
    for name, counts in partial_count_queries(tx, subject, partial_days).items():
        value, count = (counts if name == "agent" else counts.limit(limit)).subquery().c
        lists.append(select(literal(name).label("dimension"), value, count))
    return await read_counts(tx, union_all(*lists))


def partial_count_queries(
    tx: Tx, subject: Subject, partial: ValueCounts | Sequence[SignedSlice]
) -> Mapping[Dimension, Select[Any]]:
    """Select value and clicks, by dimension: from click rows of the slices, or from counts that the statement carries.

    The counts have no agents, only their parts.
    """
    if isinstance(partial, Mapping):
        return {name: _select_counts(tx, partial[name]) for name in subject.dimensions if partial.get(name)}
    if not partial:
        return {}
    columns = _partial_days_cte(tx, subject, partial).c
    return {name: select(columns[name], func.sum(columns.sign)).group_by(columns[name]) for name in subject.dimensions}


def _select_counts(tx: Tx, counts: Mapping[str, int]) -> Select[Any]:
    values: Any = literal(json.dumps(counts, ensure_ascii=False), String)
    if tx.dialect.name == "postgresql":
        rows = func.json_each_text(cast(values, postgresql.JSON)).table_valued("key", "value")
        return select(rows.c.key, cast(rows.c.value, Integer))
    rows = func.json_each(values).table_valued("key", "value")
    return select(rows.c.key, rows.c.value)


async def _sum_cached_hours(
    tx: Tx, subject: Subject, partial_days: Sequence[SignedSlice]
) -> tuple[ValueCounts, list[SignedSlice]]:
    """Return the counts of cached hours, and what remains to be counted."""
    counts, to_count = _no_counts(), list[SignedSlice]()
    for signed in partial_days:
        sign, day_slice, _ = signed
        midnight = day_slice.day * DAY
        first, last = -(-(day_slice.begin - midnight) // HOUR), (day_slice.end - midnight) // HOUR - 1
        parameters = {"subject": subject.id, "day": day_slice.day, "first": first, "last": last}
        rows = (await tx.execute(_CACHED_HOURS, parameters)).all() if first <= last else ()
        cached: dict[int, str] = {row.hour: row.value_counts for row in rows}
        for value_counts in cached.values():
            _add(counts, sign, json.loads(value_counts))
            await asyncio.sleep(0)  # visits and other requests do not wait for all hours
        to_count += [signed._replace(day_slice=rest) for rest in leave_out_hours(day_slice, cached)]
    return counts, to_count


def _statements(to_count: Sequence[SignedSlice]) -> Iterator[list[SignedSlice]]:
    """Yield the slices that one statement counts: all together, but of a day with very many clicks an hour."""
    if together := [each for each in to_count if each.clicks_of_day <= _MAX_CLICKS_OF_DAY]:
        yield together
    for each in to_count:
        if each.clicks_of_day > _MAX_CLICKS_OF_DAY:
            yield from ([each._replace(day_slice=hour)] for hour in each.day_slice.hours())


def leave_out_hours(day_slice: DaySlice, hours: Collection[int]) -> Iterator[DaySlice]:
    """Yield what remains of the slice without these hours, which are within it."""
    begin = day_slice.begin
    for start in (day_slice.day * DAY + hour * HOUR for hour in sorted(hours)):
        if begin < start:
            yield day_slice._replace(begin=begin, end=start)
        begin = start + HOUR
    if begin < day_slice.end:
        yield day_slice._replace(begin=begin)


def _add(counts: ValueCounts, sign: int, added: Mapping[str, Mapping[str, int]]) -> None:
    for name, values in added.items():
        if sign > 0:
            counts[name].update(values)
        else:
            counts[name].subtract(values)


async def read_counts(tx: Tx, query: Executable, parameters: Mapping[str, Any] | None = None) -> ValueCounts:
    return split_agents(await tx.execute(query, parameters))


def split_agents(rows: Iterable[Sequence[Any]]) -> ValueCounts:
    """Add up rows of dimension, value and clicks, with agents split into their parts."""
    counts = _no_counts()
    agents = Counter[str]()
    for name, value, count in rows:
        (agents if name == "agent" else counts[name])[value] += int(count)
    counts["target"].pop("", None)  # clicks of a part of a day, from before the link had rules or variants
    for agent, count in agents.items():
        for name, value in zip(AGENT, agent.split("\t"), strict=True):
            counts[name][value] += count
    return counts


def _no_counts() -> ValueCounts:
    return {name: Counter() for name in (*DIMENSIONS, *AGENT) if name != "agent"}


def _partial_days_cte(tx: Tx, subject: Subject, partial_days: Sequence[SignedSlice]) -> CTE:
    """Return the values of each click, and its sign."""
    queries = (
        _clicks_query(tx, subject, day_slice).add_columns(literal(sign).label("sign"))
        for sign, day_slice, _ in partial_days
    )
    return union_all(*queries).cte("partial_days")


def _clicks_query(tx: Tx, subject: Subject, day_slice: DaySlice) -> Select[Any]:
    columns = clicks.c
    agent = columns.device + "\t" + columns.browser + "\t" + columns.platform
    link = _hex(tx, columns.link_id)
    values = {
        "country": columns.country,
        "referrer": columns.referrer,
        "agent": agent,
        "link": link,
        "target": columns.target,
    }
    selected = (values[name].label(name) for name in subject.dimensions)
    return select(*selected).where(subject.clicks, *within(day_slice), columns.kind == HUMAN)


def _hex(tx: Tx, id_: ColumnElement[UUID]) -> ColumnElement[str]:
    if tx.dialect.name == "postgresql":
        return func.replace(cast(id_, String), "-", "")
    return func.lower(func.hex(id_))
