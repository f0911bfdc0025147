"""Statements that read figures: of whole days, of quarters, of clicks. Each takes the transaction of its caller's.

Days lead every key, so every statement names each day it wants and the databases seek once a day.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, String, bindparam, column, func, select, text

from waypost.database import Id, Instant, Tx
from waypost.resources.clicks.day_slices import Part
from waypost.resources.clicks.days import any_of
from waypost.resources.clicks.model import CRAWLER, HUMAN, PREVIEW, WHOLE_DAY, click_totals, clicks
from waypost.resources.clicks.subject import Subject


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

# each in a form that leaves the planner no choice but to seek once a part, and to read a part's numbers once, not for
# each of its rows
_JOINED = {
    "sqlite": """(SELECT json_extract(value, '$[0]') AS label, json_extract(value, '$[1]') AS part_day,
    json_extract(value, '$[2]') AS low, json_extract(value, '$[3]') AS high FROM json_each(:parts)) AS parts
  CROSS JOIN click_totals ON day = part_day AND subject_id = :subject AND quarter BETWEEN low AND high""",
    "postgresql": """(SELECT (value ->> 0)::int AS label, (value ->> 1)::int AS part_day,
    (value ->> 2)::int AS low, (value ->> 3)::int AS high
    FROM json_array_elements(CAST(:parts AS json)) OFFSET 0) AS parts
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
    return Figures(*(await tx.execute(counted.where(*within(subject, part)))).one())


def within(subject: Subject, part: Part) -> tuple[ColumnElement[bool], ...]:
    begin, end = part.span
    return clicks.c.day == part.day, subject.clicks, clicks.c.created_at >= begin, clicks.c.created_at < end
