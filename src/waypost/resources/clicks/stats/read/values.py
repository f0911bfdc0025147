"""Statements that read lists of values: how many clicks came from each country, by each referrer, to each link."""
# ruff: noqa: S608  # these statements consist of constants of this file

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    ColumnElement,
    Executable,
    Select,
    String,
    TextClause,
    bindparam,
    cast,
    func,
    literal,
    select,
    text,
    union_all,
)

from waypost.database import Id, Tx
from waypost.resources.clicks.days import DaySlice, SignedSlice, any_of
from waypost.resources.clicks.model import DIMENSIONS, HUMAN, Dimension, Subject, click_dimensions, clicks
from waypost.resources.clicks.stats.read.totals import is_within

AGENT = ("device", "browser", "platform")
"""The parts of a value of the dimension `agent`, in this order."""

ValueCounts = dict[str, Counter[str]]
"""Clicks of each value, by dimension; instead of `agent`, by each of AGENT."""

RankedValues = dict[str, list[tuple[str, int]]]
"""As ValueCounts, most clicks first, ties in the order of the values."""

_D = click_dimensions.c

# SQL texts, because SQLAlchemy takes milliseconds to build these statements. Days and values are sent as JSON: one
# parameter, and PostgreSQL does not estimate the rows of each of them.
_IN_DAYS = {
    "sqlite": "IN (SELECT value FROM json_each(:days))",
    "postgresql": "= ANY (ARRAY(SELECT CAST(json_array_elements_text(CAST(:days AS json)) AS integer)))",
}
_IN_VALUES = {
    "sqlite": "IN (SELECT value FROM json_each(:{name}))",
    "postgresql": "IN (SELECT json_array_elements_text(CAST(:{name} AS json)))",
}


async def ranked(
    tx: Tx, subject: Subject, days: Sequence[int], edges: Sequence[SignedSlice], limit: int
) -> RankedValues:
    """The first values of each list, and all of AGENT: of `days` from their totals, of `edges` from click rows.

    A list has a statement of its own, so that a database keeps only its beginning: an account can have 100,000 links.
    """
    of_edges = _edges(tx, subject, edges) if edges else None
    by_code_point = "C" if tx.dialect.name == "postgresql" else "BINARY"
    lists = []
    for name in subject.dimensions:
        counts: Any = select(_D.value, _D.clicks).where(*_is_in(tx, subject, name, days))
        if of_edges is not None:
            counts = union_all(counts, select(of_edges.c[name], func.sum(of_edges.c.sign)).group_by(of_edges.c[name]))
        value, count = counts.subquery().c
        total = func.sum(count).label("total")
        sums = select(literal(name).label("dimension"), value.label("value"), total).group_by(value).having(total > 0)
        if name != "agent":
            sums = sums.order_by(total.desc(), value.collate(by_code_point)).limit(limit)
        lists.append(select(sums.subquery()))
    return in_order(await _counted(tx, union_all(*lists)))


async def sums(
    tx: Tx, subject: Subject, days: Collection[int], values: Mapping[Dimension, Collection[str] | None]
) -> ValueCounts:
    """Clicks of these values on these days; of all values of a dimension where there is None."""
    given: dict[str, Any] = {"subject": subject.id, "days": json.dumps([*days])}
    given |= {name: json.dumps([*some]) for name, some in values.items() if some is not None}
    return await _counted(tx, _sums(tx.dialect.name, tuple(values), frozenset(given)), given)


async def sums_of_edges(tx: Tx, subject: Subject, edges: Sequence[SignedSlice], limit: int) -> ValueCounts:
    """From click rows: `limit` values of each list, and all of AGENT."""
    c = _edges(tx, subject, edges).c
    lists = []
    for name in subject.dimensions:
        counts = select(literal(name).label("dimension"), c[name].label("value"), func.sum(c.sign)).group_by(c[name])
        lists.append(select((counts if name == "agent" else counts.limit(limit)).subquery()))
    return await _counted(tx, union_all(*lists))


async def with_clicks_on_a_day(
    tx: Tx, subject: Subject, days: Collection[int], min_clicks: Mapping[Dimension, int], limit: int
) -> dict[Dimension, set[str]]:
    """Values that have so many clicks on one of the days, from `limit` rows of each dimension."""
    given: dict[str, Any] = {"subject": subject.id, "days": json.dumps([*days]), "limit": limit} | {**min_clicks}
    found: dict[Dimension, set[str]] = {name: set() for name in min_clicks}
    for name, value in await tx.execute(_with_clicks(tx.dialect.name, tuple(min_clicks)), given):
        found[name].add(value)
    return found


def in_order(counts: Mapping[str, Mapping[str, int]]) -> RankedValues:
    return {
        name: sorted(((value, count) for value, count in of_name.items() if count > 0), key=_most_clicks_first)
        for name, of_name in counts.items()
    }


def _most_clicks_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


async def _counted(tx: Tx, statement: Executable, given: Mapping[str, Any] | None = None) -> ValueCounts:
    """Of rows of dimension, value and clicks. Agents are split into their parts."""
    found: ValueCounts = {name: Counter() for name in (*DIMENSIONS, *AGENT)}
    for name, value, count in await tx.execute(statement, given):
        found[name][value] += int(count)
    for agent, count in found.pop("agent").items():
        for name, value in zip(AGENT, agent.split("\t"), strict=True):
            found[name][value] += count
    return found


@lru_cache
def _sums(dialect: str, names: Sequence[Dimension], given: Collection[str]) -> TextClause:
    lists = []
    for name in names:
        values = f" AND value {_IN_VALUES[dialect].format(name=name)}" if name in given else ""
        lists.append(f"SELECT '{name}', value, SUM(clicks) {_from(dialect, name)}{values} GROUP BY value")
    return text(" UNION ALL ".join(lists)).bindparams(bindparam("subject", type_=Id))


@lru_cache
def _with_clicks(dialect: str, names: Sequence[Dimension]) -> TextClause:
    lists = (f"SELECT '{name}', value {_from(dialect, name)} AND clicks >= :{name} LIMIT :limit" for name in names)
    statement = " UNION ALL ".join(f"SELECT * FROM ({each}) AS of_dimension" for each in lists)
    return text(statement).bindparams(bindparam("subject", type_=Id))


def _from(dialect: str, name: Dimension) -> str:
    conditions = f"day {_IN_DAYS[dialect]} AND subject_id = :subject AND dimension = {DIMENSIONS[name]}"
    return f"FROM click_dimensions WHERE {conditions}"


def _is_in(tx: Tx, subject: Subject, name: Dimension, days: Collection[int]) -> list[ColumnElement[bool]]:
    return [any_of(tx, _D.day, days), _D.subject_id == subject.id, _D.dimension == DIMENSIONS[name]]


def _edges(tx: Tx, subject: Subject, edges: Sequence[SignedSlice]) -> CTE:
    """The values of each click, and its sign."""
    rows = (_clicks(tx, subject, each).add_columns(literal(sign).label("sign")) for sign, each in edges)
    return union_all(*rows).cte("edges")


def _clicks(tx: Tx, subject: Subject, of: DaySlice) -> Select[Any]:
    c = clicks.c
    agent = c.device + "\t" + c.browser + "\t" + c.platform
    values = {"country": c.country, "referrer": c.referrer, "agent": agent, "link": _hex(tx, c.link_id)}
    of_subject = (values[name].label(name) for name in subject.dimensions)
    return select(*of_subject).where(*is_within(subject, of), c.kind == HUMAN)


def _hex(tx: Tx, id_: ColumnElement[UUID]) -> ColumnElement[str]:
    if tx.dialect.name == "postgresql":
        return func.replace(cast(id_, String), "-", "")
    return func.lower(func.hex(id_))
