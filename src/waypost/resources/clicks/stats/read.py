"""Reads statistics of a link or an account in a time range, an account's with the clicks of its deleted links.

The caller checks whose a link is. What is read in one transaction comes from one snapshot, so all of it agrees.
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
    DaySlice,
    KnownDays,
    TimeRange,
    any_of,
    day_of,
    find_known_days,
    slice_by_day,
    within,
)
from waypost.resources.clicks.model import CRAWLER, HUMAN, PREVIEW, WHOLE_DAY, Subject, click_totals, clicks
from waypost.resources.clicks.stats.query import StatsQuery
from waypost.resources.clicks.stats.top_values import RankedValues, find_top_values

SPARKLINE_DAYS = 14
_TOTAL = -1
"""The label of the time range; a bucket's label is its place in the series."""

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
    """The time range by days."""


@dataclass(frozen=True, slots=True)
class StatsLists:
    values: RankedValues
    names: dict[UUID, tuple[str, str]]
    """Short URL and title of the top links that exist."""


async def read_series(tx: Tx, subject: Subject, query: StatsQuery, now: datetime) -> StatsSeries:
    known = await find_known_days(tx)
    start, end = microseconds(query.range.start), _end(query.range.end, now, known.days)
    by_day = await totals_by_day(tx, subject.id, known.between(start // DAY, (end - 1) // DAY))
    slices = list(slice_by_day(_TOTAL, start, end, list(by_day)))
    all_slices = [*slices, *_slices_of_buckets(query, end, list(by_day))]
    found = await _sum_up(tx, subject, all_slices, by_day, known.kept_since)
    points = [found.get(label, StatsTotals()) for label in range(len(query.buckets))]
    return StatsSeries(subject, found.get(_TOTAL, StatsTotals()), points, known, by_day, slices)


async def read_total(tx: Tx, subject: Subject, time_range: TimeRange, known: KnownDays) -> StatsTotals:
    start, end = map(microseconds, time_range)
    by_day = await totals_by_day(tx, subject.id, known.between(start // DAY, (end - 1) // DAY))
    slices = slice_by_day(_TOTAL, start, end, list(by_day))
    return (await _sum_up(tx, subject, slices, by_day, known.kept_since)).get(_TOTAL, StatsTotals())


async def read_lists(tx: Tx, series: StatsSeries, *, shared_domain: str) -> StatsLists:
    """Of days whose clicks are gone, a part counts as the whole day."""
    partial = [each for each in series.slices if not each.is_whole_day and each.day >= series.known.kept_since]
    partial_days = [each.cheaper_half() for each in partial]
    added = {each.day for sign, each in partial_days if sign > 0}
    days = {each.day: series.by_day[each.day].clicks for each in series.slices if each.day not in added}
    values = await find_top_values(tx, series.subject, days, partial_days)
    ids = [UUID(value) for value, _ in values.get("link", ())]
    names = await links.find_names(tx, ids, shared_domain=shared_domain) if ids else {}
    return StatsLists(values, names)


def _end(end: datetime, now: datetime, days: Sequence[int]) -> int:
    """Visits after now have times of clocks that are ahead. They did happen, so a range until now includes them.

    It then also ends with a UTC day, which has totals.
    """
    return microseconds(end) if end < now or not days else max(microseconds(end), (days[-1] + 1) * DAY)


def _slices_of_buckets(query: StatsQuery, end: int, days: Sequence[int]) -> Iterator[DaySlice]:
    """From the first day with a visit: there can be thousands of buckets before it."""
    buckets, last = query.buckets, len(query.buckets) - 1
    since = from_microseconds(days[0] * DAY) if days else query.range.end
    first = min(last, bisect_right(buckets, since, key=lambda bucket: bucket.end))
    for label in range(max(0, first), last + 1):
        until = end if label == last else microseconds(buckets[label].end)
        yield from slice_by_day(label, microseconds(buckets[label].start), until, days)


async def _sum_up(
    tx: Tx, subject: Subject, slices: Iterable[DaySlice], by_day: Mapping[int, StatsTotals], kept_since: int
) -> dict[int, StatsTotals]:
    """Totals by label. Slices of days before `kept_since`, whose clicks are gone, widen to whole quarters."""
    of_days, of_quarters, of_clicks = list[DaySlice](), list[DaySlice](), list[DaySlice]()
    for each in slices:
        if each.is_whole_day:
            of_days.append(each)
        else:
            (of_quarters if each.has_quarter_totals or each.day < kept_since else of_clicks).append(each)
    found = await totals_by_label(tx, subject.id, of_quarters)
    for each in of_days:
        found.setdefault(each.label, StatsTotals()).add(by_day[each.day])
    counted: dict[tuple[int, int], StatsTotals] = {}
    for each in of_clicks:  # the edges of the time range, which its first and last bucket share
        if (each.begin, each.end) not in counted:
            counted[each.begin, each.end] = await count_clicks(tx, subject, each)
        found.setdefault(each.label, StatsTotals()).add(counted[each.begin, each.end])
    return found


async def totals_by_day(tx: Tx, subject: UUID, days: Sequence[int]) -> dict[int, StatsTotals]:
    """In order; days without any visit are missing."""
    of_days = select(_T.day, *_TOTALS).where(any_of(tx, _T.day, days), _T.subject_id == subject)
    rows = await tx.execute(of_days.where(_T.quarter == WHOLE_DAY).order_by(_T.day))
    return {row[0]: StatsTotals(*row[1:]) for row in rows}


async def totals_by_label(tx: Tx, subject: UUID, slices: Sequence[DaySlice]) -> dict[int, StatsTotals]:
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
    return StatsTotals(*(await tx.execute(counts.where(subject.clicks, *within(of)))).one())


async def count_recent_clicks(db: Database, clock: Clock, subjects: Collection[UUID]) -> Mapping[UUID, int]:
    """Clicks of yesterday, today, and tomorrow, because clocks differ: a few seeks for each subject.

    Subjects without clicks are missing.
    """
    today = day_of(clock())
    counts = select(_T.subject_id, func.sum(_T.clicks)).where(_T.subject_id.in_(subjects), _T.quarter == WHOLE_DAY)
    async with db.read() as tx:
        recent = counts.where(any_of(tx, _T.day, range(today - 1, today + 2))).group_by(_T.subject_id)
        return {id_: int(count) for id_, count in await tx.execute(recent)}


async def sparklines(clock: Clock, tx: Tx, link_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[int]]:
    """Clicks of each link on the last SPARKLINE_DAYS days in UTC, today's last. One statement for a page of links."""
    today = day_of(clock())
    days = range(today - SPARKLINE_DAYS + 1, today + 1)
    found = {id_: [0] * SPARKLINE_DAYS for id_ in link_ids}
    counts = select(_T.day, _T.subject_id, _T.clicks).where(_T.subject_id.in_(link_ids), _T.quarter == WHOLE_DAY)
    for day, id_, count in await tx.execute(counts.where(any_of(tx, _T.day, days))):
        found[id_][day - days[0]] = count
    return found
