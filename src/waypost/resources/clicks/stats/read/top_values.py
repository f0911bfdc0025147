"""The most clicked values of a period, exactly, from what is kept of most of its days.

A run is an unbroken row of days that are over. Its leaders are the LEADERS most clicked values of each list. Whoever is
none of them has no more clicks in the run than the last of them. So it is in a period's list only if the period's other
days give it what is missing, and those few are looked up.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, select

from waypost.database import Tx
from waypost.resources.clicks.day_slices import Edge
from waypost.resources.clicks.model import Dimension, click_leaders
from waypost.resources.clicks.stats.read import values
from waypost.resources.clicks.stats.read.values import Counts, Ranked
from waypost.resources.clicks.subject import Subject

TOP = 50
LEADERS = 128
BUSY = 20_000
"""Clicks of a period. Of more, adding up their values takes longest of all figures: so leaders are kept of them, and a
page tells them once it stands.
"""
_STRANGERS = 200
"""Values that are looked up. Where more could be in a list, its clicks are so scattered that leaders do not help."""
_AT_EDGES = 10_000
"""Values of a list that are told of single clicks. Visitors make up as many as they like."""

_L = click_leaders.c
_RUN = (_L.first_day, _L.last_day, _L.clicks)

Place = tuple[UUID, str]
"""(subject, period): where a run is kept."""


@dataclass(frozen=True, slots=True)
class Run:
    first: int
    last: int
    clicks: int
    """Of humans. Figures only grow, so days with as many clicks are as they were when the leaders were found."""

    def has(self, day: int) -> bool:
        return self.first <= day <= self.last


async def top(tx: Tx, subject: Subject, clicks: int, days: Mapping[int, int], edges: Sequence[Edge]) -> Ranked:
    """The TOP values of each list. `days`: the clicks of each that is whole; `edges` are counted from their clicks.

    `clicks`: of the period.
    """
    found = await _from_run(tx, subject, clicks, days, edges) if sum(days.values()) > BUSY else None
    if found is None:
        found = await values.ranked(tx, subject, list(days), edges, TOP)
    return {name: ranked[:TOP] for name, ranked in found.items()}


async def kept(tx: Tx, account_id: UUID) -> dict[Place, Run]:
    rows = await tx.execute(select(_L.subject_id, _L.period, *_RUN).where(_L.account_id == account_id))
    return {(row.subject_id, row.period): Run(*row[2:]) for row in rows}


async def forget(tx: Tx, account_id: UUID | None = None) -> None:
    """An account's, or everybody's: figures of them are being put right."""
    forgotten = delete(click_leaders)
    await tx.execute(forgotten if account_id is None else forgotten.where(_L.account_id == account_id))


async def _from_run(
    tx: Tx, subject: Subject, clicks: int, days: Mapping[int, int], edges: Sequence[Edge]
) -> Ranked | None:
    run, leaders = await _longest(tx, subject.id, days)
    if run is None:
        return None
    others = [day for day in days if not run.has(day)]
    about = abs(clicks - sum(days.values()))
    at_edges = await values.of_edges(tx, subject, edges, about, _AT_EDGES) if edges else {}
    if any(len(counts) >= _AT_EDGES for counts in at_edges.values()):
        return None
    strangers = await _strangers(tx, subject, leaders, others, at_edges)
    if any(len(found) > _STRANGERS for found in strangers.values()):
        return None
    known: dict[Dimension, list[str]] = {name: [value for value, _ in leaders[name]] for name in strangers}
    counts = await values.sums(tx, subject, others, {**known, "agent": None})
    of_strangers = await values.sums(tx, subject, days, strangers) if any(strangers.values()) else {}
    for name, counted in counts.items():
        for more in (dict(leaders.get(name, ())), of_strangers.get(name), at_edges.get(name)):
            counted.update(more or {})
    return values.in_order(counts)


async def _strangers(
    tx: Tx, subject: Subject, leaders: Ranked, others: Sequence[int], at_edges: Counts
) -> dict[Dimension, set[str]]:
    """Of each list, who is none of the leaders and could yet be among the first, by its clicks on the other days."""
    stretches = len(others) + bool(at_edges)
    names: list[Dimension] = [name for name in subject.dimensions if name != "agent"]
    least = {name: _least(leaders[name], at_edges.get(name, {}), stretches) for name in names}
    found = await values.striking(tx, subject, others, least, limit=len(others) * (LEADERS + _STRANGERS) + 1)
    for name in found:
        found[name] |= {value for value, count in at_edges.get(name, {}).items() if count >= least[name]}
        found[name] -= dict(leaders[name]).keys()
    return found


def _least(leaders: Sequence[tuple[str, int]], at_edges: Mapping[str, int], stretches: int) -> int:
    """Clicks in one of the other stretches of the period, without which nobody who is none of the leaders is told."""
    if len(leaders) < TOP:
        return 1
    at_least = sorted((count + min(0, at_edges.get(value, 0)) for value, count in leaders), reverse=True)
    missing = at_least[TOP - 1] - leaders[-1][1]
    return max(1, math.ceil(missing / max(1, stretches)))


async def _longest(tx: Tx, subject_id: UUID, days: Mapping[int, int]) -> tuple[Run | None, Ranked]:
    """Of a run with less than half of the clicks, what is left takes longer than all of them together."""
    is_inside = _L.first_day >= min(days), _L.last_day <= max(days), _L.clicks > sum(days.values()) // 2
    its = _L.subject_id == subject_id, *is_inside
    for row in await tx.execute(select(_L.leaders, *_RUN).where(*its).order_by(_L.clicks.desc())):
        run = Run(*row[1:])
        if sum(clicks for day, clicks in days.items() if run.has(day)) == run.clicks:
            return run, json.loads(row.leaders)
    return None, {}
