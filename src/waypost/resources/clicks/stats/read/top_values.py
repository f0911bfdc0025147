"""The values with the most clicks in a time range: exact, although most of its days are read from a cache.

The cache holds unbroken runs of past days, and of each list the CACHED values with the most clicks in a run. Any other
value has at most as many clicks there as the last of them. So it is a top value only if the remaining days of the time
range give it what it lacks. Such values are candidates; their clicks are summed up.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, select

from waypost.database import Tx
from waypost.resources.clicks.days import SignedSlice
from waypost.resources.clicks.model import Dimension, Subject, click_leaders
from waypost.resources.clicks.stats.read import values
from waypost.resources.clicks.stats.read.values import RankedValues, ValueCounts

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

_L = click_leaders.c
_RUN = (_L.first_day, _L.last_day, _L.clicks)

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
        found = await values.ranked(tx, subject, list(days), edges, TOP)
    return {name: ranked[:TOP] for name, ranked in found.items()}


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
    of_edges = await values.sums_of_edges(tx, subject, edges, _MAX_EDGE_VALUES) if edges else {}
    if any(len(counts) >= _MAX_EDGE_VALUES for counts in of_edges.values()):
        return None
    candidates = await _candidates(tx, subject, cached, other_days, of_edges)
    if any(len(found) > _MAX_CANDIDATES for found in candidates.values()):
        return None
    known: dict[Dimension, list[str]] = {name: [value for value, _ in cached[name]] for name in candidates}
    counts = await values.sums(tx, subject, other_days, {**known, "agent": None})
    of_candidates = await values.sums(tx, subject, list(days), candidates) if any(candidates.values()) else {}
    for name, counted in counts.items():
        for more in (dict(cached.get(name, ())), of_candidates.get(name), of_edges.get(name)):
            counted.update(more or {})
    return values.in_order(counts)


async def _candidates(
    tx: Tx, subject: Subject, cached: RankedValues, other_days: Sequence[int], of_edges: ValueCounts
) -> dict[Dimension, set[str]]:
    """Values of each list that are not cached and could be top values by their clicks on the other days."""
    names: list[Dimension] = [name for name in subject.dimensions if name != "agent"]
    addends = len(other_days) + bool(of_edges)
    least = {name: _least_clicks(cached[name], of_edges.get(name, {}), addends) for name in names}
    limit = len(other_days) * (CACHED + _MAX_CANDIDATES) + 1
    found = await values.with_clicks_on_a_day(tx, subject, other_days, least, limit)
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
