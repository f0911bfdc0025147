"""Statements that read totals: of whole days, of quarters of an hour, and from click rows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, String, bindparam, column, func, select, text

from waypost.database import Id, Instant, Tx
from waypost.kit.clock import DAY, Clock, microseconds
from waypost.resources.clicks.days import DaySlice, any_of
from waypost.resources.clicks.model import CRAWLER, HUMAN, PREVIEW, WHOLE_DAY, Subject, click_totals, clicks

SPARKLINE_DAYS = 14


@dataclass(slots=True)
class StatsTotals:
    clicks: int = 0
    visitors: int = 0
    scans: int = 0
    crawlers: int = 0
    previews: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None

    def add(self, other: "StatsTotals") -> None:
        self.clicks += other.clicks
        self.visitors += other.visitors
        self.scans += other.scans
        self.crawlers += other.crawlers
        self.previews += other.previews
        self.first_at = min(filter(None, (self.first_at, other.first_at)), default=None)
        self.last_at = max(filter(None, (self.last_at, other.last_at)), default=None)


_T = click_totals.c
_TOTALS = (_T.clicks, _T.visitors, _T.scans, _T.crawlers, _T.previews, _T.first_at, _T.last_at)

_SUM_OF_QUARTERS = """
SELECT label, SUM(clicks), SUM(CASE
    WHEN low = 0 THEN firsts WHEN high = 95 THEN lasts
    WHEN quarter = low THEN visitors WHEN quarter = low + 1 THEN new_in_15
    WHEN quarter = low + 2 THEN new_in_30 ELSE new_in_45 END),
  SUM(scans), SUM(crawlers), SUM(previews), MIN(first_at), MAX(last_at)
FROM {slices} GROUP BY label"""
"""A slice in the middle of a day has at most four quarters while its click rows exist. In a longer one, a visitor who
was away for three quarters is counted again."""

# each forces the planner to seek once for each slice, and to read a slice's numbers once, not for each of its rows
_SLICES = {
    "sqlite": """(SELECT json_extract(value, '$[0]') AS label, json_extract(value, '$[1]') AS slice_day,
    json_extract(value, '$[2]') AS low, json_extract(value, '$[3]') AS high FROM json_each(:slices)) AS slices
  CROSS JOIN click_totals ON day = slice_day AND subject_id = :subject AND quarter BETWEEN low AND high""",
    "postgresql": """(SELECT (value ->> 0)::int AS label, (value ->> 1)::int AS slice_day,
    (value ->> 2)::int AS low, (value ->> 3)::int AS high
    FROM json_array_elements(CAST(:slices AS json)) OFFSET 0) AS slices
  CROSS JOIN LATERAL (SELECT * FROM click_totals WHERE day = slice_day AND subject_id = :subject
    AND quarter BETWEEN low AND high OFFSET 0) AS totals""",
}
_BY_LABEL = {
    dialect: text(_SUM_OF_QUARTERS.format(slices=slices))
    .bindparams(bindparam("subject", type_=Id), bindparam("slices", type_=String))
    .columns(
        column("label"),
        *(column(name) for name in ("clicks", "visitors", "scans", "crawlers", "previews")),
        column("first_at", Instant),
        column("last_at", Instant),
    )
    for dialect, slices in _SLICES.items()
}


async def by_day(tx: Tx, subject: UUID, days: Sequence[int]) -> dict[int, StatsTotals]:
    """In order; days without any visit are missing."""
    of_days = select(_T.day, *_TOTALS).where(any_of(tx, _T.day, days), _T.subject_id == subject)
    rows = await tx.execute(of_days.where(_T.quarter == WHOLE_DAY).order_by(_T.day))
    return {row[0]: StatsTotals(*row[1:]) for row in rows}


async def by_label(tx: Tx, subject: UUID, slices: Sequence[DaySlice]) -> dict[int, StatsTotals]:
    """From totals of quarters."""
    if not slices:
        return {}
    sent = json.dumps([(each.label, each.day, each.first_quarter, each.last_quarter) for each in slices])
    rows = await tx.execute(_BY_LABEL[tx.dialect.name], {"subject": subject, "slices": sent})
    return {row[0]: StatsTotals(*row[1:]) for row in rows}


async def count_clicks(tx: Tx, subject: Subject, of: DaySlice) -> StatsTotals:
    """From click rows."""
    is_human = clicks.c.kind == HUMAN
    counts = select(
        func.count().filter(is_human),
        func.count(clicks.c.visitor_id.distinct()).filter(is_human),
        func.count().filter(is_human, clicks.c.is_scan),
        func.count().filter(clicks.c.kind == CRAWLER),
        func.count().filter(clicks.c.kind == PREVIEW),
        func.min(clicks.c.created_at).filter(is_human),
        func.max(clicks.c.created_at).filter(is_human),
    )
    return StatsTotals(*(await tx.execute(counts.where(*is_within(subject, of)))).one())


def is_within(subject: Subject, of: DaySlice) -> tuple[ColumnElement[bool], ...]:
    """Conditions on a click."""
    start, end = of.time_range
    return clicks.c.day == of.day, subject.clicks, clicks.c.created_at >= start, clicks.c.created_at < end


async def sparklines(clock: Clock, tx: Tx, link_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[int]]:
    """Clicks of each link on the last SPARKLINE_DAYS days in UTC, today's last. One statement for a page of links."""
    today = microseconds(clock()) // DAY
    days = range(today - SPARKLINE_DAYS + 1, today + 1)
    found = {id_: [0] * SPARKLINE_DAYS for id_ in link_ids}
    counts = select(_T.day, _T.subject_id, _T.clicks).where(_T.subject_id.in_(link_ids), _T.quarter == WHOLE_DAY)
    for day, id_, count in await tx.execute(counts.where(any_of(tx, _T.day, days))):
        found[id_][day - days[0]] = count
    return found
