"""Reads clicks and statistics from the tables of the service's database, in one snapshot."""

import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, String, bindparam, column, func, select, text

from waypost.database import Id, Instant, Tx
from waypost.resources.clicks.backends.sql import matching, top_values
from waypost.resources.clicks.backends.sql.count import count_clicks, sum_links
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
from waypost.resources.clicks.model import (
    CRAWLER,
    DIMENSIONS,
    HUMAN,
    PREFETCH,
    PREVIEW,
    WHOLE_DAY,
    Click,
    ClickKind,
    LabelName,
    ListName,
    RankedValues,
    StatsTotals,
    Subject,
    click_dimensions,
    click_totals,
    clicks,
)
from waypost.resources.clicks.selection import ClickSelection
from waypost.resources.clicks.stats.tally import Counted, Tally

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
_CLICKS_BY_QUARTER = {
    dialect: text(
        f"SELECT bucket, day % 7, quarter, SUM(clicks) FROM {slices} WHERE clicks > 0 GROUP BY 1, 2, 3"  # noqa: S608  # constants
    ).bindparams(bindparam("subject", type_=Id), bindparam("slices", type_=String))
    for dialect, slices in _SLICES.items()
}


class SqlReader:
    max_counted = 3_000_000

    def __init__(self, tx: Tx) -> None:
        self.tx = tx

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        yield self.tx

    async def find_known_days(self, subject: Subject) -> KnownDays:  # noqa: ARG002  # those of all subjects
        return await find_known_days(self.tx)

    async def totals_by_day(self, subject: Subject, days: Sequence[int]) -> dict[int, StatsTotals]:
        return await top_values.totals_by_day(self.tx, subject.id, days)

    async def totals_by_bucket(self, subject: Subject, slices: Sequence[DaySlice]) -> dict[int, StatsTotals]:
        if not slices:
            return {}
        rows = await self.tx.execute(_TOTALS_BY_BUCKET[self.tx.dialect.name], _slices(subject, slices))
        return {row[0]: StatsTotals(*row[1:]) for row in rows}

    async def clicks_by_quarter(
        self, subject: Subject, slices: Sequence[DaySlice]
    ) -> Sequence[tuple[int, int, int, int]]:
        rows = await self.tx.execute(_CLICKS_BY_QUARTER[self.tx.dialect.name], _slices(subject, slices))
        return [(bucket, day, quarter, int(count)) for bucket, day, quarter, count in rows]

    async def count_part(self, subject: Subject, day_slice: DaySlice) -> StatsTotals:
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
        self, subject: Subject, days: Mapping[int, int], partial_days: Sequence[SignedSlice], limit: int | None
    ) -> RankedValues:
        return await top_values.find_top_values(self.tx, subject, days, partial_days, limit)

    async def find_label_values(
        self, subject: Subject, days: Mapping[int, int], partial_days: Sequence[SignedSlice], *, shared_domain: str
    ) -> Mapping[LabelName, Counter[str]]:
        return await top_values.find_label_values(self.tx, subject, days, partial_days, shared_domain=shared_domain)

    async def count_clicks(
        self, selection: ClickSelection, slices: Sequence[DaySlice], sizes: Mapping[int, int], tally: Tally
    ) -> Counted:
        return await count_clicks(self.tx, selection, slices, sizes, tally)

    async def sum_links(
        self, selection: ClickSelection, slices: Sequence[DaySlice], lists: Sequence[ListName]
    ) -> Counted:
        return await sum_links(self.tx, selection, slices, lists)

    async def count_by_day(
        self, selection: ClickSelection, kind: ClickKind | None, days: Sequence[DaySlice]
    ) -> dict[int, int]:
        whole_days = [day_slice for day_slice in days if day_slice.is_whole_day]
        counts = await _count_whole_days(self.tx, selection, kind, [each.day for each in whole_days])
        for day_slice in days:
            if not day_slice.is_whole_day:
                conditions = matching.conditions(self.tx, selection, kind, [day_slice])
                query = select(func.count()).select_from(clicks).where(*conditions)
                counts[day_slice.day] = (await self.tx.execute(query)).scalar_one()
        return counts

    async def read_newest(
        self, selection: ClickSelection, kind: ClickKind | None, page_slice: PageSlice
    ) -> list[Click]:
        rows = await self.tx.execute(_newest_query(self.tx, selection, kind, page_slice))
        return [read_click(row) for row in rows]

    async def clicks_per_day(self, subjects: Collection[UUID], days: Sequence[int]) -> Mapping[UUID, Mapping[int, int]]:
        query = select(_totals.day, _totals.subject_id, _totals.clicks).where(
            _totals.subject_id.in_(subjects), _totals.quarter == WHOLE_DAY, in_values(self.tx, _totals.day, days)
        )
        found: dict[UUID, dict[int, int]] = {}
        for day, id_, count in await self.tx.execute(query):
            found.setdefault(id_, {})[day] = count
        return found

    async def sum_days(self, subjects: Collection[UUID], days: Sequence[int]) -> Mapping[UUID, int]:
        query = select(_totals.subject_id, func.sum(_totals.clicks)).where(
            _totals.subject_id.in_(subjects), _totals.quarter == WHOLE_DAY, in_values(self.tx, _totals.day, days)
        )
        return {id_: int(count) for id_, count in await self.tx.execute(query.group_by(_totals.subject_id))}


def _slices(subject: Subject, slices: Sequence[DaySlice]) -> dict[str, Any]:
    numbers = [(each.bucket, each.day, each.first_quarter, each.last_quarter) for each in slices]
    return {"subject": subject.id, "slices": json.dumps(numbers)}


async def _count_whole_days(
    tx: Tx, selection: ClickSelection, kind: ClickKind | None, days: Sequence[int]
) -> dict[int, int]:
    links, by_dimension = selection.links, matching.match_dimension(tx, selection.clauses)
    few = links.few if links else [selection.subject.id]
    if few is not None and not selection.clauses:
        day = _totals.day
        query = select(day, func.sum(_COUNT_COLUMNS[kind])).where(
            _totals.subject_id.in_(few), _totals.quarter == WHOLE_DAY
        )
    elif few is not None and by_dimension and kind == HUMAN:
        dimension, conditions = by_dimension
        day = _dimensions.day
        query = select(day, func.sum(_dimensions.clicks)).where(
            _dimensions.subject_id.in_(few), _dimensions.dimension == DIMENSIONS[dimension], *conditions
        )
    else:
        day = clicks.c.day
        query = select(day, func.count()).where(*matching.conditions(tx, selection, kind))
    rows = await tx.execute(query.where(in_values(tx, day, days)).group_by(day))
    return {row[0]: int(row[1]) for row in rows}


def _newest_query(tx: Tx, selection: ClickSelection, kind: ClickKind | None, page_slice: PageSlice) -> Select[Any]:
    """Select ids first, so that skipped clicks are read from the index only."""
    order = clicks.c.created_at.desc(), clicks.c.id.desc()
    ids = select(clicks.c.id).where(*matching.conditions(tx, selection, kind, page_slice.days)).order_by(*order)
    return select(*COLUMNS).where(clicks.c.id.in_(ids.offset(page_slice.skip).limit(page_slice.take))).order_by(*order)
