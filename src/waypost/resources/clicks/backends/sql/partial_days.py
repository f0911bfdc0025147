"""Counts the values of clicks on parts of days: only clicks say at which time of the day a value was seen."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    ColumnElement,
    Executable,
    Integer,
    Select,
    String,
    cast,
    func,
    literal,
    select,
    union_all,
)
from sqlalchemy.dialects import postgresql

from waypost.database import Tx
from waypost.resources.clicks.days import DaySlice, SignedSlice, within
from waypost.resources.clicks.model import DIMENSIONS, HUMAN, Dimension, Subject, clicks

AGENT = ("device", "browser", "platform")
"""The parts of a value of the dimension `agent`, in this order."""

ValueCounts = dict[str, Counter[str]]
"""Clicks of each value, by dimension; instead of `agent`, by each of AGENT."""

_MAX_CLICKS_OF_DAY = 100_000
"""A statement that counts half of them takes a fifth of a second, and is interrupted after two."""
_MAX_VALUES = 50_000
"""Of a list. Visitors can invent any number of referrers, and other visits wait while these are added up."""


async def sum_partial_days(
    tx: Tx, subject: Subject, partial_days: Sequence[SignedSlice], limit: int
) -> ValueCounts | None:
    """Count the clicks of each value. Return None if a list has too many.

    Too many are `limit` in one statement, or _MAX_VALUES in all.
    """
    counts = _no_counts()
    for slices in _statements(partial_days):
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


def _statements(to_count: Sequence[SignedSlice]) -> Iterator[list[SignedSlice]]:
    """Yield the slices that one statement counts: all together, but of a day with very many clicks an hour."""
    if together := [each for each in to_count if each.clicks_of_day <= _MAX_CLICKS_OF_DAY]:
        yield together
    for each in to_count:
        if each.clicks_of_day > _MAX_CLICKS_OF_DAY:
            yield from ([each._replace(day_slice=hour)] for hour in each.day_slice.hours())


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
