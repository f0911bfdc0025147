"""Statements that read lists of values: how many clicks came from each country, by each referrer, to each link."""
# ruff: noqa: S608  # these statements are put together from constants of this file alone

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
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
from waypost.resources.clicks.day_slices import Edge, Part
from waypost.resources.clicks.days import any_of
from waypost.resources.clicks.model import DIMENSIONS, HUMAN, Dimension, click_dimensions, clicks
from waypost.resources.clicks.stats.read.totals import within
from waypost.resources.clicks.subject import Subject

AGENT = ("device", "browser", "platform")
"""What stands in a value of the dimension `agent`, in this order."""

_FEW = 4_000
"""Clicks that are counted here: to have them counted takes half as long again."""

Counts = dict[str, Counter[str]]
"""Clicks of values by dimension; in place of `agent`, by each of AGENT."""

Ranked = dict[str, list[tuple[str, int]]]
"""As Counts, the most clicked first, ties in the order of the values."""

_D = click_dimensions.c

# days and values come as JSON: one parameter, and PostgreSQL does not ask its statistics about each of them
_DAYS = {
    "sqlite": "IN (SELECT value FROM json_each(:days))",
    "postgresql": "= ANY (ARRAY(SELECT CAST(json_array_elements_text(CAST(:days AS json)) AS integer)))",
}
_WANTED = {
    "sqlite": "IN (SELECT value FROM json_each(:{name}))",
    "postgresql": "IN (SELECT json_array_elements_text(CAST(:{name} AS json)))",
}
_ITS = "FROM click_dimensions WHERE day {days} AND subject_id = :subject AND dimension = {code}"


async def ranked(tx: Tx, subject: Subject, days: Sequence[int], edges: Sequence[Edge], most: int) -> Ranked:
    """`most` values of each list and all of AGENT: of whole `days`, and `edges` from their clicks."""
    at_edges = _at_edges(tx, subject, edges) if edges else None
    lists = [_ranked(tx, subject, name, days, at_edges, most) for name in subject.dimensions]
    return in_order(await _counted(tx, union_all(*lists)))


async def of_edges(tx: Tx, subject: Subject, edges: Sequence[Edge], clicks: int, limit: int) -> Counts:
    """`limit`: of the values of each list. There are all of AGENT. `clicks`: how many there are, or nearly."""
    few = await _of_few(tx, subject, edges) if clicks <= _FEW else None
    if few is not None:
        return few
    c = _at_edges(tx, subject, edges).c
    lists = []
    for name in subject.dimensions:
        counted = select(literal(name).label("dimension"), c[name].label("value"), func.sum(c.sign)).group_by(c[name])
        lists.append(select((counted if name == "agent" else counted.limit(limit)).subquery()))
    return await _counted(tx, union_all(*lists))


async def sums(
    tx: Tx, subject: Subject, days: Iterable[int], wanted: Mapping[Dimension, Collection[str] | None]
) -> Counts:
    """Over whole days, of the wanted values; of all where None are told."""
    given: dict[str, Any] = {"subject": subject.id, "days": json.dumps([*days])}
    for name, values in wanted.items():
        if values is not None:
            given[name] = json.dumps([*values])
    return await _counted(tx, _sums(tx.dialect.name, tuple(wanted), frozenset(given)), given)


async def striking(
    tx: Tx, subject: Subject, days: Iterable[int], least: Mapping[Dimension, int], limit: int
) -> dict[Dimension, set[str]]:
    """Values with so many clicks on a single day, a `limit` of rows from each list."""
    statement = _striking(tx.dialect.name, tuple(least))
    given: dict[str, Any] = {"subject": subject.id, "days": json.dumps([*days]), "limit": limit}
    found: dict[Dimension, set[str]] = {name: set() for name in least}
    for name, value in await tx.execute(statement, given | dict(least)):
        found[name].add(value)
    return found


def in_order(counts: Mapping[str, Mapping[str, int]]) -> Ranked:
    there = {name: [counted for counted in values.items() if counted[1] > 0] for name, values in counts.items()}
    return {name: sorted(values, key=_most_first) for name, values in there.items()}


def _most_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


async def _of_few(tx: Tx, subject: Subject, edges: Sequence[Edge]) -> Counts | None:
    """None where there are more than _FEW after all."""
    found, left = _nothing(), _FEW
    for sign, part in edges:
        rows = (await tx.execute(_clicks(tx, subject, part).limit(left + 1))).all()
        left -= len(rows)
        if left < 0:
            return None
        for name, values in zip(subject.dimensions, zip(*rows, strict=True), strict=bool(rows)):
            for value, count in Counter(values).items():
                found[name][value] += sign * count
    return _parted(found)


def _nothing() -> Counts:
    return {name: Counter() for name in (*DIMENSIONS, *AGENT)}


async def _counted(tx: Tx, statement: Executable, given: Mapping[str, Any] | None = None) -> Counts:
    """Of rows of dimension, value and clicks."""
    found = _nothing()
    for name, value, total in await tx.execute(statement, given):
        found[name][value] += int(total)
    return _parted(found)


def _parted(found: Counts) -> Counts:
    for agent, count in found.pop("agent").items():
        for name, value in zip(AGENT, agent.split("\t"), strict=True):
            found[name][value] += count
    return found


@lru_cache
def _sums(dialect: str, names: Sequence[Dimension], told: Collection[str]) -> TextClause:
    parts = []
    for name in names:
        wanted = f" AND value {_WANTED[dialect].format(name=name)}" if name in told else ""
        parts.append(f"SELECT '{name}', value, SUM(clicks) {_its(dialect, name)}{wanted} GROUP BY value")
    return _text(" UNION ALL ".join(parts))


@lru_cache
def _striking(dialect: str, names: Sequence[Dimension]) -> TextClause:
    lists = (f"SELECT '{name}', value {_its(dialect, name)} AND clicks >= :{name} LIMIT :limit" for name in names)
    return _text(" UNION ALL ".join(f"SELECT * FROM ({each}) AS those" for each in lists))


def _its(dialect: str, name: Dimension) -> str:
    return _ITS.format(days=_DAYS[dialect], code=DIMENSIONS[name])


def _text(statement: str) -> TextClause:
    return text(statement).bindparams(bindparam("subject", type_=Id))


def _ranked(
    tx: Tx, subject: Subject, name: Dimension, days: Sequence[int], at_edges: CTE | None, most: int
) -> Select[Any]:
    """One list on its own, so that a database keeps no more than the first of it: an account can have 100,000 links.

    All of the dimension `agent`, whose values are parted and added up anew.
    """
    its = any_of(tx, _D.day, days), _D.subject_id == subject.id, _D.dimension == DIMENSIONS[name]
    counted: Any = select(_D.value, _D.clicks).where(*its)
    if at_edges is not None:
        value = at_edges.c[name]
        counted = union_all(counted, select(value, func.sum(at_edges.c.sign)).group_by(value))
    its_values = counted.subquery()
    value, total = its_values.c[0], func.sum(its_values.c[1]).label("total")
    found = select(literal(name).label("dimension"), value.label("value"), total).group_by(value).having(total > 0)
    if name != "agent":
        by_value = value.collate("C" if tx.dialect.name == "postgresql" else "BINARY")
        found = found.order_by(total.desc(), by_value).limit(most)
    return select(found.subquery())


def _at_edges(tx: Tx, subject: Subject, edges: Sequence[Edge]) -> CTE:
    signed = (_clicks(tx, subject, part).add_columns(literal(sign).label("sign")) for sign, part in edges)
    return union_all(*signed).cte("edges")


def _clicks(tx: Tx, subject: Subject, part: Part) -> Select[Any]:
    """The values of each, in the order of the subject's dimensions."""
    c = clicks.c
    agent = c.device + "\t" + c.browser + "\t" + c.platform
    values = {"country": c.country, "referrer": c.referrer, "agent": agent, "link": _hex(tx, c.link_id)}
    of_subject = (values[name].label(name) for name in subject.dimensions)
    return select(*of_subject).where(*within(subject, part), c.kind == HUMAN)


def _hex(tx: Tx, id_: ColumnElement[UUID]) -> ColumnElement[str]:
    if tx.dialect.name == "postgresql":
        return func.replace(cast(id_, String), "-", "")
    return func.lower(func.hex(id_))
