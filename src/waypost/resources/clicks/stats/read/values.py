"""Statements that read lists of values: how many clicks came from each country, by each referrer, to each link."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import CTE, ColumnElement, Select, String, cast, func, literal, select, union_all

from waypost.database import Tx
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
    return in_order(await _counted(tx, lists))


async def sums(
    tx: Tx, subject: Subject, days: Collection[int], values: Mapping[Dimension, Collection[str] | None]
) -> ValueCounts:
    """Clicks of these values on these days; of all values of a dimension where there is None."""
    lists: list[Select[Any]] = []
    for name, some in values.items():
        conditions = _is_in(tx, subject, name, days)
        if some is not None:
            conditions.append(any_of(tx, _D.value, some))
        lists.append(select(literal(name), _D.value, func.sum(_D.clicks)).where(*conditions).group_by(_D.value))
    return await _counted(tx, lists)


async def sums_of_edges(tx: Tx, subject: Subject, edges: Sequence[SignedSlice], limit: int) -> ValueCounts:
    """From click rows: `limit` values of each list, and all of AGENT."""
    c = _edges(tx, subject, edges).c
    lists = []
    for name in subject.dimensions:
        counts = select(literal(name).label("dimension"), c[name].label("value"), func.sum(c.sign)).group_by(c[name])
        lists.append(select((counts if name == "agent" else counts.limit(limit)).subquery()))
    return await _counted(tx, lists)


async def with_clicks_on_a_day(
    tx: Tx, subject: Subject, days: Collection[int], min_clicks: Mapping[Dimension, int], limit: int
) -> dict[Dimension, set[str]]:
    """Values that have so many clicks on one of the days, from `limit` rows of each dimension."""
    lists = []
    for name, clicks_ in min_clicks.items():
        rows = select(literal(name).label("dimension"), _D.value).where(*_is_in(tx, subject, name, days))
        lists.append(select(rows.where(_D.clicks >= clicks_).limit(limit).subquery()))
    found: dict[Dimension, set[str]] = {name: set() for name in min_clicks}
    for name, value in await tx.execute(union_all(*lists)):
        found[name].add(value)
    return found


def in_order(counts: Mapping[str, Mapping[str, int]]) -> RankedValues:
    return {
        name: sorted(((value, count) for value, count in of_name.items() if count > 0), key=_most_clicks_first)
        for name, of_name in counts.items()
    }


def _most_clicks_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


async def _counted(tx: Tx, lists: Sequence[Select[Any]]) -> ValueCounts:
    """Each has rows of dimension, value and clicks. Agents are split into their parts."""
    found: ValueCounts = {name: Counter() for name in (*DIMENSIONS, *AGENT)}
    for name, value, count in await tx.execute(union_all(*lists)):
        found[name][value] += int(count)
    for agent, count in found.pop("agent").items():
        for name, value in zip(AGENT, agent.split("\t"), strict=True):
            found[name][value] += count
    return found


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
