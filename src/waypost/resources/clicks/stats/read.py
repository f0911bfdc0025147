"""Reads statistics of a link or an account in a time range. An account's include the clicks of its deleted links.

The caller checks the owner of a link. One transaction reads one snapshot, so all its results agree.
"""

import json
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import String, bindparam, column, func, select, text

from waypost.database import Database, Id, Instant, Tx
from waypost.kit.clock import DAY, Clock, from_microseconds, microseconds
from waypost.resources import links
from waypost.resources.clicks.days import (
    TOTAL_BUCKET,
    DaySlice,
    KnownDays,
    TimeRange,
    day_of,
    find_known_days,
    in_values,
    slice_by_day,
    within,
)
from waypost.resources.clicks.model import CRAWLER, HUMAN, PREVIEW, WHOLE_DAY, Subject, click_totals, clicks
from waypost.resources.clicks.stats.query import StatsQuery
from waypost.resources.clicks.stats.top_values import RankedValues, find_top_values

SPARKLINE_DAYS = 14
_totals = click_totals.c
_TOTALS_COLUMNS = (
    _totals.clicks,
    _totals.visitors,
    _totals.scans,
    _totals.crawlers,
    _totals.previews,
    _totals.first_at,
    _totals.last_at,
)

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


@dataclass(frozen=True, slots=True)
class StatsSeries:
    subject: Subject
    total: StatsTotals
    points: list[StatsTotals]
    """One for each bucket of the query."""
    known: KnownDays
    by_day: Mapping[int, StatsTotals]
    slices: Sequence[DaySlice]
    """The time range, a slice for each day."""


@dataclass(frozen=True, slots=True)
class StatsLists:
    values: RankedValues
    names: dict[UUID, tuple[str, str]]
    """Short URL and title of the top links that exist."""


async def read_series(tx: Tx, subject: Subject, query: StatsQuery, now: datetime) -> StatsSeries:
    known = await find_known_days(tx)
    start, end = microseconds(query.range.start), _end(query.range.end, now, known.days)
    by_day = await totals_by_day(tx, subject.id, known.between(start // DAY, (end - 1) // DAY))
    slices = list(slice_by_day(TOTAL_BUCKET, start, end, list(by_day)))
    all_slices = [*slices, *_slices_of_buckets(query, end, list(by_day))]
    totals = await _sum_up(tx, subject, all_slices, by_day, known.kept_since)
    points = [totals.get(bucket, StatsTotals()) for bucket in range(len(query.buckets))]
    return StatsSeries(subject, totals.get(TOTAL_BUCKET, StatsTotals()), points, known, by_day, slices)


async def read_total(tx: Tx, subject: Subject, time_range: TimeRange, known: KnownDays) -> StatsTotals:
    start, end = map(microseconds, time_range)
    by_day = await totals_by_day(tx, subject.id, known.between(start // DAY, (end - 1) // DAY))
    slices = slice_by_day(TOTAL_BUCKET, start, end, list(by_day))
    return (await _sum_up(tx, subject, slices, by_day, known.kept_since)).get(TOTAL_BUCKET, StatsTotals())


async def read_lists(tx: Tx, series: StatsSeries, *, shared_domain: str) -> StatsLists:
    """Read the top values. A partial day whose clicks were deleted counts as a whole day."""
    kept_since, slices = series.known.kept_since, series.slices
    partial = [day_slice for day_slice in slices if not day_slice.is_whole_day and day_slice.day >= kept_since]
    partial_days = [day_slice.cheaper_half() for day_slice in partial]
    added = {day_slice.day for sign, day_slice in partial_days if sign > 0}
    days = {day_slice.day: series.by_day[day_slice.day].clicks for day_slice in slices if day_slice.day not in added}
    values = await find_top_values(tx, series.subject, days, partial_days)
    ids = [UUID(value) for value, _ in values.get("link", ())]
    names = await links.find_names(tx, ids, shared_domain=shared_domain) if ids else {}
    return StatsLists(values, names)


def _end(end: datetime, now: datetime, days: Sequence[int]) -> int:
    """Extend a range that ends now to the end of the last day with visits.

    Some clocks are ahead, and whole days have totals.
    """
    return microseconds(end) if end < now or not days else max(microseconds(end), (days[-1] + 1) * DAY)


def _slices_of_buckets(query: StatsQuery, end: int, days: Sequence[int]) -> Iterator[DaySlice]:
    """Start at the first day with a visit: there can be thousands of buckets before it."""
    buckets, last = query.buckets, len(query.buckets) - 1
    since = from_microseconds(days[0] * DAY) if days else query.range.end
    first = min(last, bisect_right(buckets, since, key=lambda bucket: bucket.end))
    for bucket in range(max(0, first), last + 1):
        until = end if bucket == last else microseconds(buckets[bucket].end)
        yield from slice_by_day(bucket, microseconds(buckets[bucket].start), until, days)


async def _sum_up(
    tx: Tx, subject: Subject, slices: Iterable[DaySlice], by_day: Mapping[int, StatsTotals], kept_since: int
) -> dict[int, StatsTotals]:
    """Return totals by bucket. Slices of days before `kept_since`, whose clicks are deleted, widen to quarters."""
    whole_days, with_quarter_totals, to_count = list[DaySlice](), list[DaySlice](), list[DaySlice]()
    for day_slice in slices:
        if day_slice.is_whole_day:
            whole_days.append(day_slice)
        elif day_slice.has_quarter_totals or day_slice.day < kept_since:
            with_quarter_totals.append(day_slice)
        else:
            to_count.append(day_slice)
    totals = await totals_by_bucket(tx, subject.id, with_quarter_totals)
    for day_slice in whole_days:
        totals.setdefault(day_slice.bucket, StatsTotals()).add(by_day[day_slice.day])
    counted: dict[tuple[int, int], StatsTotals] = {}
    for day_slice in to_count:  # partial days of the time range, which its first and last bucket share
        key = day_slice.begin, day_slice.end
        if key not in counted:
            counted[key] = await count_clicks(tx, subject, day_slice)
        totals.setdefault(day_slice.bucket, StatsTotals()).add(counted[key])
    return totals


async def totals_by_day(tx: Tx, subject: UUID, days: Sequence[int]) -> dict[int, StatsTotals]:
    """Return totals in the order of days; days without a visit are missing."""
    query = select(_totals.day, *_TOTALS_COLUMNS).where(in_values(tx, _totals.day, days), _totals.subject_id == subject)
    rows = await tx.execute(query.where(_totals.quarter == WHOLE_DAY).order_by(_totals.day))
    return {row[0]: StatsTotals(*row[1:]) for row in rows}


async def totals_by_bucket(tx: Tx, subject: UUID, slices: Sequence[DaySlice]) -> dict[int, StatsTotals]:
    """Add up totals of quarters."""
    if not slices:
        return {}
    numbers = [(each.bucket, each.day, each.first_quarter, each.last_quarter) for each in slices]
    parameters = {"subject": subject, "slices": json.dumps(numbers)}
    rows = await tx.execute(_TOTALS_BY_BUCKET[tx.dialect.name], parameters)
    return {row[0]: StatsTotals(*row[1:]) for row in rows}


async def count_clicks(tx: Tx, subject: Subject, day_slice: DaySlice) -> StatsTotals:
    """Count from click rows."""
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
    return StatsTotals(*(await tx.execute(query.where(subject.clicks, *within(day_slice)))).one())


async def count_recent_clicks(db: Database, clock: Clock, subjects: Collection[UUID]) -> Mapping[UUID, int]:
    """Count clicks of yesterday, today and tomorrow, because clocks differ: a few seeks for each subject.

    Subjects without clicks are missing.
    """
    today = day_of(clock())
    query = select(_totals.subject_id, func.sum(_totals.clicks)).where(
        _totals.subject_id.in_(subjects), _totals.quarter == WHOLE_DAY
    )
    async with db.read() as tx:
        query = query.where(in_values(tx, _totals.day, range(today - 1, today + 2))).group_by(_totals.subject_id)
        return {id_: int(count) for id_, count in await tx.execute(query)}


async def find_sparklines(clock: Clock, tx: Tx, link_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[int]]:
    """Return the clicks per day of each link on the last SPARKLINE_DAYS days in UTC, oldest day first."""
    today = day_of(clock())
    days = range(today - SPARKLINE_DAYS + 1, today + 1)
    clicks_per_day = {id_: [0] * SPARKLINE_DAYS for id_ in link_ids}
    query = select(_totals.day, _totals.subject_id, _totals.clicks).where(
        _totals.subject_id.in_(link_ids), _totals.quarter == WHOLE_DAY
    )
    for day, id_, count in await tx.execute(query.where(in_values(tx, _totals.day, days))):
        clicks_per_day[id_][day - days[0]] = count
    return clicks_per_day
