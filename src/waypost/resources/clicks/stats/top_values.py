"""The values with the most clicks in a time range: exact, although most of its days are read from a cache.

The cache holds unbroken runs of past days, and of each list the CACHED values with the most clicks in a run. Any other
value has at most as many clicks there as the last of them. So it is a top value only if the remaining days of the time
range give it what it lacks. Such values are candidates; their clicks are summed up.
"""
# ruff: noqa: S608  # these statements consist of constants of this file

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
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
    delete,
    func,
    literal,
    select,
    text,
    union_all,
)

from waypost.database import Id, Tx
from waypost.resources.clicks.days import DaySlice, SignedSlice, any_of, is_within
from waypost.resources.clicks.model import (
    DIMENSIONS,
    HUMAN,
    Dimension,
    Subject,
    click_dimensions,
    click_leaders,
    clicks,
)

AGENT = ("device", "browser", "platform")
"""The parts of a value of the dimension `agent`, in this order."""

ValueCounts = dict[str, Counter[str]]
"""Clicks of each value, by dimension; instead of `agent`, by each of AGENT."""

RankedValues = dict[str, list[tuple[str, int]]]
"""As ValueCounts, most clicks first, ties in the order of the values."""

TOP = 50
CACHED = 128
BUSY = 20_000
"""Clicks in a time range. Above it, summing up values takes longer than all other statistics: so the worker caches
them, and a page loads its lists after itself.
"""
_MAX_CANDIDATES = 200
"""Where more values of a list could be top values, clicks are so scattered that the cache does not help."""
_MAX_EDGE_VALUES = 10_000
"""Values of a list read from click rows. Visitors can invent any number of referrers."""

_D, _L = click_dimensions.c, click_leaders.c
_RUN = (_L.first_day, _L.last_day, _L.clicks)

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

CacheKey = tuple[UUID, str]
"""(subject, period of the dashboard)"""


@dataclass(frozen=True, slots=True)
class CachedRun:
    first_day: int
    last_day: int
    clicks: int
    """Of humans. Counts only grow, so days with as many clicks are unchanged since their values were cached."""

    def has(self, day: int) -> bool:
        return self.first_day <= day <= self.last_day


async def top_values(tx: Tx, subject: Subject, days: Mapping[int, int], edges: Sequence[SignedSlice]) -> RankedValues:
    """TOP values of each list. `days`: the clicks of each whole day; `edges`: the partial days."""
    found = await _from_cache(tx, subject, days, edges) if sum(days.values()) > BUSY else None
    if found is None:
        found = await ranked(tx, subject, list(days), edges, TOP)
    return {name: counted[:TOP] for name, counted in found.items()}


async def cached_runs(tx: Tx, account_id: UUID) -> dict[CacheKey, CachedRun]:
    rows = await tx.execute(select(_L.subject_id, _L.period, *_RUN).where(_L.account_id == account_id))
    return {(row.subject_id, row.period): CachedRun(*row[2:]) for row in rows}


async def clear_cache(tx: Tx) -> None:
    await tx.execute(delete(click_leaders))


async def clear_cache_of(tx: Tx, account_id: UUID) -> None:
    await tx.execute(delete(click_leaders).where(_L.account_id == account_id))


async def _from_cache(
    tx: Tx, subject: Subject, days: Mapping[int, int], edges: Sequence[SignedSlice]
) -> RankedValues | None:
    run, cached = await _longest_run(tx, subject.id, days)
    if run is None:
        return None
    other_days = [day for day in days if not run.has(day)]
    of_edges = await sum_edges(tx, subject, edges, _MAX_EDGE_VALUES) if edges else {}
    if any(len(counts) >= _MAX_EDGE_VALUES for counts in of_edges.values()):
        return None
    candidates = await _candidates(tx, subject, cached, other_days, of_edges)
    if any(len(found) > _MAX_CANDIDATES for found in candidates.values()):
        return None
    known: dict[Dimension, list[str]] = {name: [value for value, _ in cached[name]] for name in candidates}
    counts = await sum_values(tx, subject, other_days, {**known, "agent": None})
    of_candidates = await sum_values(tx, subject, list(days), candidates) if any(candidates.values()) else {}
    for name, counted in counts.items():
        for more in (dict(cached.get(name, ())), of_candidates.get(name), of_edges.get(name)):
            counted.update(more or {})
    return in_order(counts)


async def _candidates(
    tx: Tx, subject: Subject, cached: RankedValues, other_days: Sequence[int], of_edges: ValueCounts
) -> dict[Dimension, set[str]]:
    """Values of each list that are not cached and could be top values by their clicks on the other days."""
    names: list[Dimension] = [name for name in subject.dimensions if name != "agent"]
    addends = len(other_days) + bool(of_edges)
    least = {name: _least_clicks(cached[name], of_edges.get(name, {}), addends) for name in names}
    limit = len(other_days) * (CACHED + _MAX_CANDIDATES) + 1
    found = await with_clicks_on_a_day(tx, subject, other_days, least, limit)
    for name in found:
        found[name] |= {value for value, count in of_edges.get(name, {}).items() if count >= least[name]}
        found[name] -= dict(cached[name]).keys()
    return found


def _least_clicks(cached: Sequence[tuple[str, int]], of_edges: Mapping[str, int], addends: int) -> int:
    """Clicks that a top value that is not cached has at least in one of the addends: another day, or the edges."""
    if len(cached) < TOP:
        return 1
    counts = sorted((count + min(0, of_edges.get(value, 0)) for value, count in cached), reverse=True)
    missing = counts[TOP - 1] - cached[-1][1]
    return max(1, math.ceil(missing / max(1, addends)))


async def _longest_run(tx: Tx, subject_id: UUID, days: Mapping[int, int]) -> tuple[CachedRun | None, RankedValues]:
    """Only one with half of the clicks saves time."""
    is_inside = _L.first_day >= min(days), _L.last_day <= max(days), _L.clicks > sum(days.values()) // 2
    runs = select(_L.leaders, *_RUN).where(_L.subject_id == subject_id, *is_inside).order_by(_L.clicks.desc())
    for row in await tx.execute(runs):
        run = CachedRun(*row[1:])
        if sum(clicks for day, clicks in days.items() if run.has(day)) == run.clicks:
            return run, json.loads(row.leaders)
    return None, {}


async def ranked(
    tx: Tx, subject: Subject, days: Sequence[int], edges: Sequence[SignedSlice], limit: int
) -> RankedValues:
    """The first values of each list, and all of AGENT: of `days` from their totals, of `edges` from click rows.

    A list has a statement of its own, so that a database keeps only its beginning: an account can have 100,000 links.
    """
    is_of_subject = any_of(tx, _D.day, days), _D.subject_id == subject.id
    of_edges = _edges(tx, subject, edges) if edges else None
    by_code_point = "C" if tx.dialect.name == "postgresql" else "BINARY"
    lists = []
    for name in subject.dimensions:
        counts: Any = select(_D.value, _D.clicks).where(*is_of_subject, _D.dimension == DIMENSIONS[name])
        if of_edges is not None:
            counts = union_all(counts, select(of_edges.c[name], func.sum(of_edges.c.sign)).group_by(of_edges.c[name]))
        value, count = counts.subquery().c
        total = func.sum(count).label("total")
        sums = select(literal(name).label("dimension"), value.label("value"), total).group_by(value).having(total > 0)
        if name != "agent":
            sums = sums.order_by(total.desc(), value.collate(by_code_point)).limit(limit)
        lists.append(select(sums.subquery()))
    return in_order(await _counted(tx, union_all(*lists)))


async def sum_values(
    tx: Tx, subject: Subject, days: Collection[int], values: Mapping[Dimension, Collection[str] | None]
) -> ValueCounts:
    """Clicks of these values on these days; of all values of a dimension where there is None."""
    given: dict[str, Any] = {"subject": subject.id, "days": json.dumps([*days])}
    given |= {name: json.dumps([*some]) for name, some in values.items() if some is not None}
    return await _counted(tx, _sums(tx.dialect.name, tuple(values), frozenset(given)), given)


async def sum_edges(tx: Tx, subject: Subject, edges: Sequence[SignedSlice], limit: int) -> ValueCounts:
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


def _edges(tx: Tx, subject: Subject, edges: Sequence[SignedSlice]) -> CTE:
    """The values of each click, and its sign."""
    rows = (_clicks(tx, subject, each).add_columns(literal(sign).label("sign")) for sign, each in edges)
    return union_all(*rows).cte("edges")


def _clicks(tx: Tx, subject: Subject, of: DaySlice) -> Select[Any]:
    c = clicks.c
    agent = c.device + "\t" + c.browser + "\t" + c.platform
    values = {"country": c.country, "referrer": c.referrer, "agent": agent, "link": _hex(tx, c.link_id)}
    of_subject = (values[name].label(name) for name in subject.dimensions)
    return select(*of_subject).where(subject.clicks, *is_within(of), c.kind == HUMAN)


def _hex(tx: Tx, id_: ColumnElement[UUID]) -> ColumnElement[str]:
    if tx.dialect.name == "postgresql":
        return func.replace(cast(id_, String), "-", "")
    return func.lower(func.hex(id_))
