"""Statements that read figures: of whole days, of quarters, of clicks. Each takes the transaction of its caller's.

Days lead every key, so every statement names each day it wants and the databases seek once a day.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    ColumnElement,
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

from waypost.database import Id, Instant, Tx
from waypost.resources.clicks.days import any_of
from waypost.resources.clicks.model import (
    CRAWLER,
    DIMENSIONS,
    HUMAN,
    PREVIEW,
    WHOLE_DAY,
    Dimension,
    click_dimensions,
    click_totals,
    clicks,
)
from waypost.resources.clicks.stats.parts import Part
from waypost.resources.clicks.subject import Subject

TOP = 50


@dataclass(slots=True)
class Figures:
    clicks: int = 0
    visitors: int = 0
    scans: int = 0
    crawlers: int = 0
    previews: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None

    def add(self, other: "Figures") -> None:
        self.clicks += other.clicks
        self.visitors += other.visitors
        self.scans += other.scans
        self.crawlers += other.crawlers
        self.previews += other.previews
        self.first_at = min(filter(None, (self.first_at, other.first_at)), default=None)
        self.last_at = max(filter(None, (self.last_at, other.last_at)), default=None)


AGENT = ("device", "browser", "platform")
"""What stands in a value of the dimension `agent`, in this order."""

Counted = dict[str, list[tuple[str, int]]]
"""Values with their clicks, the most clicked first, by dimension; for `agent`, by each of AGENT."""

_T = click_totals.c
_OF_DAY = (_T.clicks, _T.visitors, _T.scans, _T.crawlers, _T.previews, _T.first_at, _T.last_at)

_QUARTERS = """
SELECT label, SUM(clicks), SUM(CASE
    WHEN low = 0 THEN firsts WHEN high = 95 THEN lasts
    WHEN quarter = low THEN visitors WHEN quarter = low + 1 THEN new_in_15
    WHEN quarter = low + 2 THEN new_in_30 ELSE new_in_45 END),
  SUM(scans), SUM(crawlers), SUM(previews), MIN(first_at), MAX(last_at)
FROM {parts} GROUP BY label"""
"""The longest part that is neither a day's beginning nor its end has four quarters, if its clicks are still there.
In a longer one, a visitor who stayed away for three quarters is counted again."""

# each in a form that leaves the planner no choice but to seek once a part
_JOINED = {
    "sqlite": """(SELECT json_extract(value, '$[0]') AS label, json_extract(value, '$[1]') AS part_day,
    json_extract(value, '$[2]') AS low, json_extract(value, '$[3]') AS high FROM json_each(:parts)) AS parts
  CROSS JOIN click_totals ON day = part_day AND subject_id = :subject AND quarter BETWEEN low AND high""",
    "postgresql": """(SELECT (value ->> 0)::int AS label, (value ->> 1)::int AS part_day,
    (value ->> 2)::int AS low, (value ->> 3)::int AS high FROM json_array_elements(CAST(:parts AS json))) AS parts
  CROSS JOIN LATERAL (SELECT * FROM click_totals WHERE day = part_day AND subject_id = :subject
    AND quarter BETWEEN low AND high OFFSET 0) AS totals""",
}
_OF_QUARTERS = {
    dialect: text(_QUARTERS.format(parts=joined))
    .bindparams(bindparam("subject", type_=Id), bindparam("parts", type_=String))
    .columns(
        column("label"),
        *(column(name) for name in ("clicks", "visitors", "scans", "crawlers", "previews")),
        column("first_at", Instant),
        column("last_at", Instant),
    )
    for dialect, joined in _JOINED.items()
}


async def of_days(tx: Tx, subject: UUID, days: Sequence[int]) -> dict[int, Figures]:
    """By day, in order; days without any visit are missing."""
    of_each = select(_T.day, *_OF_DAY).where(any_of(tx, _T.day, days), _T.subject_id == subject)
    rows = await tx.execute(of_each.where(_T.quarter == WHOLE_DAY).order_by(_T.day))
    return {row[0]: Figures(*row[1:]) for row in rows}


async def of_quarters(tx: Tx, subject: UUID, parts: Sequence[Part]) -> dict[int, Figures]:
    """By label."""
    if not parts:
        return {}
    told = json.dumps([(part.label, part.day, part.first, part.last) for part in parts])
    rows = await tx.execute(_OF_QUARTERS[tx.dialect.name], {"subject": subject, "parts": told})
    return {row[0]: Figures(*row[1:]) for row in rows}


async def of_clicks(tx: Tx, subject: Subject, part: Part) -> Figures:
    is_human = clicks.c.kind == HUMAN
    counted = select(
        func.count().filter(is_human),
        func.count(clicks.c.visitor_id.distinct()).filter(is_human),
        func.count().filter(is_human, clicks.c.is_scan),
        func.count().filter(clicks.c.kind == CRAWLER),
        func.count().filter(clicks.c.kind == PREVIEW),
        func.min(clicks.c.created_at).filter(is_human),
        func.max(clicks.c.created_at).filter(is_human),
    )
    return Figures(*(await tx.execute(counted.where(*_within(subject, part)))).one())


async def top(tx: Tx, subject: Subject, days: Sequence[int], edges: Sequence[Part]) -> Counted:
    """The TOP values of each list, ties in the order of the values: `days` whole, `edges` from their clicks."""
    of_edges = _at_edges(tx, subject, edges)
    ranked = [_ranked(tx, subject, name, days, of_edges) for name in subject.dimensions]
    found: dict[str, list[tuple[str, int]]] = {name: [] for name in DIMENSIONS}
    for row in await tx.execute(union_all(*ranked)):
        found[row.dimension].append((row.value, int(row.total)))
    lists = {name: sorted(values, key=_most_first) for name, values in found.items()}
    return lists | _of_agents(lists.pop("agent"))


def _most_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def _of_agents(agents: Iterable[tuple[str, int]]) -> Counted:
    counts: dict[str, Counter[str]] = {name: Counter() for name in AGENT}
    for agent, count in agents:
        for name, value in zip(AGENT, agent.split("\t"), strict=True):
            counts[name][value] += count
    return {name: sorted(counted.items(), key=_most_first)[:TOP] for name, counted in counts.items()}


def _ranked(tx: Tx, subject: Subject, name: Dimension, days: Sequence[int], of_edges: CTE | None) -> Select[Any]:
    """One list on its own, so that a database keeps no more than the TOP of it: an account can have 100,000 links.

    All of the dimension `agent`, whose values are parted and added up anew.
    """
    d = click_dimensions.c
    its = any_of(tx, d.day, days), d.subject_id == subject.id, d.dimension == DIMENSIONS[name]
    counted: Any = select(d.value, d.clicks).where(*its)
    if of_edges is not None:
        value = of_edges.c[name]
        counted = union_all(counted, select(value, func.count()).group_by(value))
    values = counted.subquery()
    value, total = values.c[0], func.sum(values.c[1]).label("total")
    ranked = select(literal(name).label("dimension"), value.label("value"), total).group_by(value)
    if name != "agent":
        by_value = value.collate("C" if tx.dialect.name == "postgresql" else "BINARY")
        ranked = ranked.order_by(total.desc(), by_value).limit(TOP)
    return select(ranked.subquery())


def _at_edges(tx: Tx, subject: Subject, edges: Sequence[Part]) -> CTE | None:
    if not edges:
        return None
    c = clicks.c
    agent = c.device + "\t" + c.browser + "\t" + c.platform
    values = (c.country, c.referrer, agent.label("agent"), _hex(tx, c.link_id).label("link"))
    return union_all(*(select(*values).where(*_within(subject, part), c.kind == HUMAN) for part in edges)).cte("edges")


def _within(subject: Subject, part: Part) -> tuple[ColumnElement[bool], ...]:
    begin, end = part.span
    return clicks.c.day == part.day, subject.clicks, clicks.c.created_at >= begin, clicks.c.created_at < end


def _hex(tx: Tx, id_: ColumnElement[UUID]) -> ColumnElement[str]:
    if tx.dialect.name == "postgresql":
        return func.replace(cast(id_, String), "-", "")
    return func.lower(func.hex(id_))
