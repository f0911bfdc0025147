"""The values with the most clicks in a time range: exact, although most of its days are read from a cache.

The cache holds, for a range of past days, the CACHED_COUNT most frequent values of each dimension. Any other value has
at most as many clicks there as the last of these, so it is a candidate only if the other days could make up the
difference. The clicks of candidates are summed up.
"""
# ruff: noqa: S608  # these statements consist of constants of this file

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause, bindparam, delete, func, literal, select, text, union_all

from waypost.database import Id, Tx
from waypost.resources.clicks.backends.sql.partial_days import (
    AGENT,
    ValueCounts,
    partial_count_queries,
    read_counts,
    sum_partial_days,
)
from waypost.resources.clicks.days import SignedSlice, in_values
from waypost.resources.clicks.model import DIMENSIONS, Dimension, Subject, click_dimensions, top_values_cache

RankedValues = dict[str, list[tuple[str, int]]]
"""As ValueCounts, most clicks first, ties in the order of the values."""

TOP_COUNT = 50
CACHED_COUNT = 128
CACHE_THRESHOLD = 20_000
"""Clicks in a time range. Above it, summing up values takes longer than all other statistics: so the worker caches
them, and a page loads its lists after itself.
"""
_MAX_CANDIDATES = 200
"""If more values of a list could be top values, clicks are so scattered that the cache does not help."""
_MAX_PARTIAL_DAY_VALUES = 10_000
"""Values of a list read from click rows. Visitors can invent any number of referrers."""

_dimensions, _cache = click_dimensions.c, top_values_cache.c
_CACHED_DAYS_COLUMNS = (_cache.first_day, _cache.last_day, _cache.clicks)

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
"""(subject, time range of the dashboard)"""


@dataclass(frozen=True, slots=True)
class CachedDays:
    first_day: int
    last_day: int
    clicks: int
    """Of humans. Counts only grow, so days with as many clicks are unchanged since their values were cached."""

    def has(self, day: int) -> bool:
        return self.first_day <= day <= self.last_day


async def find_top_values(
    tx: Tx, subject: Subject, days: Mapping[int, int], partial_days: Sequence[SignedSlice]
) -> RankedValues:
    """Return TOP_COUNT values of each list. `days`: the clicks of each whole day."""
    ranked = None
    if sum(days.values()) + sum(each.clicks_of_day for each in partial_days) > CACHE_THRESHOLD:
        partial_counts = await sum_partial_days(tx, subject, partial_days, _MAX_PARTIAL_DAY_VALUES)
        if partial_counts is not None:
            ranked = await _rank_with_cache(tx, subject, days, partial_counts)
            if ranked is None:
                ranked = await rank_values(tx, subject, list(days), partial_counts, TOP_COUNT)
    if ranked is None:
        ranked = await rank_values(tx, subject, list(days), partial_days, TOP_COUNT)
    return {name: counted[:TOP_COUNT] for name, counted in ranked.items()}


async def find_cached_days(tx: Tx, account_id: UUID) -> dict[CacheKey, CachedDays]:
    query = select(_cache.subject_id, _cache.time_range, *_CACHED_DAYS_COLUMNS).where(_cache.account_id == account_id)
    return {(row.subject_id, row.time_range): CachedDays(*row[2:]) for row in await tx.execute(query)}


async def clear_cache(tx: Tx) -> None:
    await tx.execute(delete(top_values_cache))


async def clear_cache_of(tx: Tx, account_id: UUID) -> None:
    await tx.execute(delete(top_values_cache).where(_cache.account_id == account_id))


async def _rank_with_cache(
    tx: Tx, subject: Subject, days: Mapping[int, int], partial_counts: ValueCounts
) -> RankedValues | None:
    cached_days, cached = await _find_largest_cached_days(tx, subject.id, days) if days else (None, {})
    if cached_days is None:
        return None
    other_days = [day for day in days if not cached_days.has(day)]
    candidates = await _find_candidates(tx, subject, cached, other_days, partial_counts)
    if any(len(values) > _MAX_CANDIDATES for values in candidates.values()):
        return None
    cached_values: dict[Dimension, list[str]] = {name: [value for value, _ in cached[name]] for name in candidates}
    totals = await sum_values(tx, subject, other_days, {**cached_values, "agent": None})
    candidate_counts = await sum_values(tx, subject, list(days), candidates) if any(candidates.values()) else {}
    for name, counts in totals.items():
        for added in (dict(cached.get(name, ())), candidate_counts.get(name), partial_counts[name]):
            counts.update(added or {})
    return rank(totals)


async def _find_candidates(
    tx: Tx, subject: Subject, cached: RankedValues, other_days: Sequence[int], partial_counts: ValueCounts
) -> dict[Dimension, set[str]]:
    """Return values of each list that are not cached and could be top values by their clicks on the other days."""
    names: list[Dimension] = [name for name in subject.dimensions if name != "agent"]
    parts = len(other_days) + any(partial_counts.values())
    min_clicks = {name: _min_clicks(cached[name], partial_counts[name], parts) for name in names}
    limit = len(other_days) * (CACHED_COUNT + _MAX_CANDIDATES) + 1
    candidates = await find_values_with_clicks(tx, subject, other_days, min_clicks, limit)
    for name, values in candidates.items():
        values.update(value for value, count in partial_counts[name].items() if count >= min_clicks[name])
        values.difference_update(dict(cached[name]))
    return candidates


def _min_clicks(cached: Sequence[tuple[str, int]], partial_counts: Mapping[str, int], parts: int) -> int:
    """Return the clicks that a top value has in one of the parts if it is not cached.

    A part is one of the other days, or all partial days.
    """
    if len(cached) < TOP_COUNT:
        return 1
    counts = sorted((count + min(0, partial_counts.get(value, 0)) for value, count in cached), reverse=True)
    missing = counts[TOP_COUNT - 1] - cached[-1][1]
    return max(1, math.ceil(missing / max(1, parts)))


async def _find_largest_cached_days(
    tx: Tx, subject_id: UUID, days: Mapping[int, int]
) -> tuple[CachedDays | None, RankedValues]:
    """Return those with the most clicks. Fewer than half of all clicks would not save time."""
    conditions = (
        _cache.subject_id == subject_id,
        _cache.first_day >= min(days),
        _cache.last_day <= max(days),
        _cache.clicks > sum(days.values()) // 2,
    )
    query = select(_cache.top_values, *_CACHED_DAYS_COLUMNS).where(*conditions).order_by(_cache.clicks.desc())
    for row in await tx.execute(query):
        cached_days = CachedDays(*row[1:])
        if sum(clicks for day, clicks in days.items() if cached_days.has(day)) == cached_days.clicks:
            return cached_days, json.loads(row.top_values)
    return None, {}


async def rank_values(
    tx: Tx, subject: Subject, days: Sequence[int], partial: ValueCounts | Sequence[SignedSlice], limit: int
) -> RankedValues:
    """Return the first values of each list, and all of AGENT: of `days` from totals, plus those of partial days.

    `partial`: their counts, or the slices, which are then counted from click rows.

    A list has a statement of its own, so that a database keeps only its beginning: an account can have 100,000 links.
    """
    matches_subject = in_values(tx, _dimensions.day, days), _dimensions.subject_id == subject.id
    of_partial_days = partial_count_queries(tx, subject, partial)
    by_code_point = "C" if tx.dialect.name == "postgresql" else "BINARY"
    lists = []
    for name in subject.dimensions:
        counts: Any = select(_dimensions.value, _dimensions.clicks).where(
            *matches_subject, _dimensions.dimension == DIMENSIONS[name]
        )
        if name in of_partial_days:
            counts = union_all(counts, of_partial_days[name])
        value, count = counts.subquery().c
        total = func.sum(count).label("total")
        sums = select(literal(name).label("dimension"), value.label("value"), total).group_by(value).having(total > 0)
        if name != "agent":
            sums = sums.order_by(total.desc(), value.collate(by_code_point)).limit(limit)
        lists.append(select(sums.subquery()))
    sums_by_value = await read_counts(tx, union_all(*lists))
    if isinstance(partial, Mapping):
        for part in AGENT:
            sums_by_value[part].update(partial[part])
    return rank(sums_by_value)


async def sum_values(
    tx: Tx, subject: Subject, days: Collection[int], values: Mapping[Dimension, Collection[str] | None]
) -> ValueCounts:
    """Sum up the clicks of these values on these days. None: all values of the dimension."""
    parameters: dict[str, Any] = {"subject": subject.id, "days": json.dumps([*days])}
    parameters |= {name: json.dumps([*selected]) for name, selected in values.items() if selected is not None}
    return await read_counts(tx, _sums(tx.dialect.name, tuple(values), frozenset(parameters)), parameters)


async def find_values_with_clicks(
    tx: Tx, subject: Subject, days: Collection[int], min_clicks: Mapping[Dimension, int], limit: int
) -> dict[Dimension, set[str]]:
    """Return values that have at least `min_clicks` on one of the days, from `limit` rows of each dimension."""
    parameters: dict[str, Any] = {"subject": subject.id, "days": json.dumps([*days]), "limit": limit} | {**min_clicks}
    values: dict[Dimension, set[str]] = {name: set() for name in min_clicks}
    for name, value in await tx.execute(_values_with_clicks(tx.dialect.name, tuple(min_clicks)), parameters):
        values[name].add(value)
    return values


def rank(counts: Mapping[str, Mapping[str, int]]) -> RankedValues:
    return {
        name: sorted(((value, count) for value, count in values.items() if count > 0), key=_most_clicks_first)
        for name, values in counts.items()
    }


def _most_clicks_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


@lru_cache
def _sums(dialect: str, names: Sequence[Dimension], parameters: Collection[str]) -> TextClause:
    lists = []
    for name in names:
        values = f" AND value {_IN_VALUES[dialect].format(name=name)}" if name in parameters else ""
        lists.append(f"SELECT '{name}', value, SUM(clicks) {_from_dimension(dialect, name)}{values} GROUP BY value")
    return text(" UNION ALL ".join(lists)).bindparams(bindparam("subject", type_=Id))


@lru_cache
def _values_with_clicks(dialect: str, names: Sequence[Dimension]) -> TextClause:
    lists = (
        f"SELECT '{name}', value {_from_dimension(dialect, name)} AND clicks >= :{name} LIMIT :limit" for name in names
    )
    query = " UNION ALL ".join(f"SELECT * FROM ({values}) AS values_of_dimension" for values in lists)
    return text(query).bindparams(bindparam("subject", type_=Id))


def _from_dimension(dialect: str, name: Dimension) -> str:
    conditions = f"day {_IN_DAYS[dialect]} AND subject_id = :subject AND dimension = {DIMENSIONS[name]}"
    return f"FROM click_dimensions WHERE {conditions}"
