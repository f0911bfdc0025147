"""Reads clicks and statistics from the tables of the service's database, in one snapshot."""

import contextlib
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, String, bindparam, column, func, select, text

from waypost.database import Id, Instant, Tx
from waypost.resources.clicks.backends.sql.top_values import find_top_values, totals_by_day
from waypost.resources.clicks.backends.sql.write import COLUMNS, read_click
from waypost.resources.clicks.days import (
    DaySlice,
    KnownDays,
    PageSlice,
    SignedSlice,
    find_known_days,
    in_values,
    within,
)
from waypost.resources.clicks.filters import ClickFilter, FilterField
from waypost.resources.clicks.model import (
    CRAWLER,
    DIMENSIONS,
    HUMAN,
    PREFETCH,
    PREVIEW,
    WHOLE_DAY,
    Click,
    ClickKind,
    RankedValues,
    StatsTotals,
    Subject,
    click_dimensions,
    click_totals,
    clicks,
)

if TYPE_CHECKING:
    pass

_totals, _dimensions = click_totals.c, click_dimensions.c
_COUNT_COLUMNS: dict[ClickKind | None, ColumnElement[int]] = {
    HUMAN: _totals.clicks,
    CRAWLER: _totals.crawlers,
    PREVIEW: _totals.previews,
    PREFETCH: _totals.prefetches,
    None: _totals.clicks + _totals.crawlers + _totals.previews + _totals.prefetches,
}


_SUM_OF_QUARTERS = """
SELECT bucket, SUM(clicks), SUM(CASE
    WHEN low = 0 THEN firsts WHEN high = 95 THEN lasts
    WHEN quarter = low THEN visitors WHEN quarter = low + 1 THEN new_in_15
    WHEN quarter = low + 2 THEN new_in_30 ELSE new_in_45 END),
  SUM(scans), SUM(crawlers), SUM(previews), MIN(first_at), MAX(last_at)
FROM {slices} GROUP BY bucket"""
"""A slice in the middle of a day has at most four quarters while its click rows exist. In a longer one, a visitor who
was away for three quarters is counted again."""

# each forces the planner to seek once for each slice, and to read a slice's numbers once, not for each of its rows
_SLICES = {
    "sqlite": """(SELECT json_extract(value, '$[0]') AS bucket, json_extract(value, '$[1]') AS slice_day,
    json_extract(value, '$[2]') AS low, json_extract(value, '$[3]') AS high FROM json_each(:slices)) AS slices
  CROSS JOIN click_totals ON day = slice_day AND subject_id = :subject AND quarter BETWEEN low AND high""",
    "postgresql": """(SELECT (value ->> 0)::int AS bucket, (value ->> 1)::int AS slice_day,
    (value ->> 2)::int AS low, (value ->> 3)::int AS high
    FROM json_array_elements(CAST(:slices AS json)) OFFSET 0) AS slices
  CROSS JOIN LATERAL (SELECT * FROM click_totals WHERE day = slice_day AND subject_id = :subject
    AND quarter BETWEEN low AND high OFFSET 0) AS totals""",
}
_TOTALS_BY_BUCKET = {
    dialect: text(_SUM_OF_QUARTERS.format(slices=slices))
    .bindparams(bindparam("subject", type_=Id), bindparam("slices", type_=String))
    .columns(
        column("bucket"),
        *(column(name) for name in ("clicks", "visitors", "scans", "crawlers", "previews")),
        column("first_at", Instant),
        column("last_at", Instant),
    )
    for dialect, slices in _SLICES.items()
}

_OWN_DIMENSIONS: dict[FilterField, int] = {"country": DIMENSIONS["country"], "referrer": DIMENSIONS["referrer"]}
"""Fields with their own dimension; the others share one."""


class SqlReader:
    def __init__(self, tx: Tx) -> None:
        self.tx = tx

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        yield self.tx

    async def find_known_days(self, subject: Subject) -> KnownDays:  # noqa: ARG002  # those of all subjects
        return await find_known_days(self.tx)

    async def totals_by_day(self, subject: Subject, days: Sequence[int]) -> dict[int, StatsTotals]:
        return await totals_by_day(self.tx, subject.id, days)

    async def totals_by_bucket(self, subject: Subject, slices: Sequence[DaySlice]) -> dict[int, StatsTotals]:
        if not slices:
            return {}
        numbers = [(each.bucket, each.day, each.first_quarter, each.last_quarter) for each in slices]
        parameters = {"subject": subject.id, "slices": json.dumps(numbers)}
        rows = await self.tx.execute(_TOTALS_BY_BUCKET[self.tx.dialect.name], parameters)
        return {row[0]: StatsTotals(*row[1:]) for row in rows}

    async def count_clicks(self, subject: Subject, day_slice: DaySlice) -> StatsTotals:
        is_human = clicks.c.kind == HUMAN
        query = select(
            func.count().filter(is_human),
            func.count(clicks.c.visitor_id.distinct()).filter(is_human),
            func.count().filter(is_human, clicks.c.is_scan),
            func.count().filter(clicks.c.kind == CRAWLER),
            func.count().filter(clicks.c.kind == PREVIEW),
            func.min(clicks.c.created_at).filter(is_human),
            func.max(clicks.c.created_at).filter(is_human),
        )
        return StatsTotals(*(await self.tx.execute(query.where(subject.clicks, *within(day_slice)))).one())

    async def find_top_values(
        self, subject: Subject, days: Mapping[int, int], partial_days: Sequence[SignedSlice]
    ) -> RankedValues:
        return await find_top_values(self.tx, subject, days, partial_days)

    async def count_by_day(
        self, subject: Subject, click_filter: ClickFilter, days: Sequence[DaySlice]
    ) -> dict[int, int]:
        counts = await _count_whole_days(self.tx, subject, click_filter, [day.day for day in days if day.is_whole_day])
        for day_slice in days:
            if not day_slice.is_whole_day:
                counts[day_slice.day] = await _count(self.tx, subject, click_filter, day_slice)
        return counts

    async def read_newest(self, subject: Subject, click_filter: ClickFilter, page_slice: PageSlice) -> list[Click]:
        rows = await self.tx.execute(_newest_query(self.tx, subject, click_filter, page_slice))
        return [read_click(row) for row in rows]

    async def clicks_per_day(self, subjects: Collection[UUID], days: Sequence[int]) -> Mapping[UUID, Mapping[int, int]]:
        query = select(_totals.day, _totals.subject_id, _totals.clicks).where(
            _totals.subject_id.in_(subjects), _totals.quarter == WHOLE_DAY, in_values(self.tx, _totals.day, days)
        )
        found: dict[UUID, dict[int, int]] = {}
        for day, id_, count in await self.tx.execute(query):
            found.setdefault(id_, {})[day] = count
        return found


async def _count_whole_days(tx: Tx, subject: Subject, click_filter: ClickFilter, days: Sequence[int]) -> dict[int, int]:
    conditions = _match_dimension(tx, click_filter.values)
    if not click_filter.values:
        day = _totals.day
        query = select(day, _COUNT_COLUMNS[click_filter.kind]).where(
            _totals.subject_id == subject.id, _totals.quarter == WHOLE_DAY
        )
    elif conditions and click_filter.kind == HUMAN:
        day = _dimensions.day
        query = (
            select(day, func.sum(_dimensions.clicks))
            .where(_dimensions.subject_id == subject.id, *conditions)
            .group_by(day)
        )
    else:
        day = clicks.c.day
        query = select(day, func.count()).where(subject.clicks, *click_filter.conditions).group_by(day)
    rows = await tx.execute(query.where(in_values(tx, day, days)))
    return {row[0]: int(row[1]) for row in rows}


def _match_dimension(tx: Tx, values: Mapping[FilterField, str]) -> list[ColumnElement[bool]]:
    """Conditions on `click_dimensions`; none unless one dimension has all these fields."""
    if set(values) <= {"device", "browser", "platform"}:
        return [
            _dimensions.dimension == DIMENSIONS["agent"],
            *(_match_agent(tx, name, value) for name, value in values.items()),
        ]
    if len(values) == 1:
        ((name, value),) = values.items()
        return [_dimensions.dimension == _OWN_DIMENSIONS[name], _dimensions.value == value]
    return []


def _match_agent(tx: Tx, name: FilterField, value: str) -> ColumnElement[bool]:
    """SQL condition: this field of the agent has the value. LIKE would interpret wildcards."""
    if name == "device":
        return func.substr(_dimensions.value, 1, len(value) + 1) == f"{value}\t"
    if name == "platform":
        return func.substr(_dimensions.value, func.length(_dimensions.value) - len(value)) == f"\t{value}"
    find_position = func.strpos if tx.dialect.name == "postgresql" else func.instr
    return find_position(_dimensions.value, f"\t{value}\t") > 0


async def _count(tx: Tx, subject: Subject, click_filter: ClickFilter, day_slice: DaySlice) -> int:
    query = select(func.count()).select_from(clicks).where(*_conditions(tx, subject, click_filter, [day_slice]))
    return (await tx.execute(query)).scalar_one()


def _newest_query(tx: Tx, subject: Subject, click_filter: ClickFilter, page_slice: PageSlice) -> Select[Any]:
    """Select ids first, so that skipped clicks are read from the index only."""
    order = clicks.c.created_at.desc(), clicks.c.id.desc()
    ids = select(clicks.c.id).where(*_conditions(tx, subject, click_filter, page_slice.days)).order_by(*order)
    return select(*COLUMNS).where(clicks.c.id.in_(ids.offset(page_slice.skip).limit(page_slice.take))).order_by(*order)


def _conditions(
    tx: Tx, subject: Subject, click_filter: ClickFilter, days: Sequence[DaySlice]
) -> list[ColumnElement[bool]]:
    conditions = [subject.clicks, *click_filter.conditions]
    if len(days) > 1:
        return [in_values(tx, clicks.c.day, [day.day for day in days]), *conditions]
    return [*within(days[0]), *conditions]
