"""Reads statistics of a link or an account in a time range. An account's include the clicks of its deleted links.

The caller checks the owner of a link. One transaction reads one snapshot, so all its results agree.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from waypost.database import Database
from waypost.kit.clock import DAY, Clock, from_microseconds, microseconds
from waypost.resources import links
from waypost.resources.clicks.days import TOTAL_BUCKET, DaySlice, KnownDays, TimeRange, day_of, slice_by_day
from waypost.resources.clicks.model import RankedValues, StatsTotals, Subject
from waypost.resources.clicks.stats.query import StatsQuery
from waypost.resources.clicks.store import ClickReader, ClickStore, ClicksUnavailable

SPARKLINE_DAYS = 14


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


async def read_series(reader: ClickReader, subject: Subject, query: StatsQuery, now: datetime) -> StatsSeries:
    known = await reader.find_known_days(subject)
    start, end = microseconds(query.range.start), _end(query.range.end, now, known.days)
    by_day = await reader.totals_by_day(subject, known.between(start // DAY, (end - 1) // DAY))
    slices = list(slice_by_day(TOTAL_BUCKET, start, end, list(by_day)))
    all_slices = [*slices, *_slices_of_buckets(query, end, list(by_day))]
    totals = await _sum_up(reader, subject, all_slices, by_day, known.kept_since)
    points = [totals.get(bucket, StatsTotals()) for bucket in range(len(query.buckets))]
    return StatsSeries(subject, totals.get(TOTAL_BUCKET, StatsTotals()), points, known, by_day, slices)


async def read_total(reader: ClickReader, subject: Subject, time_range: TimeRange, known: KnownDays) -> StatsTotals:
    start, end = map(microseconds, time_range)
    by_day = await reader.totals_by_day(subject, known.between(start // DAY, (end - 1) // DAY))
    slices = slice_by_day(TOTAL_BUCKET, start, end, list(by_day))
    return (await _sum_up(reader, subject, slices, by_day, known.kept_since)).get(TOTAL_BUCKET, StatsTotals())


async def read_lists(reader: ClickReader, series: StatsSeries, *, shared_domain: str) -> StatsLists:
    """Read the top values. A partial day whose clicks were deleted counts as a whole day."""
    kept_since, slices = series.known.kept_since, series.slices
    partial = [day_slice for day_slice in slices if not day_slice.is_whole_day and day_slice.day >= kept_since]
    partial_days = [day_slice.cheaper_half(series.by_day[day_slice.day].clicks) for day_slice in partial]
    added = {each.day_slice.day for each in partial_days if each.sign > 0}
    days = {day_slice.day: series.by_day[day_slice.day].clicks for day_slice in slices if day_slice.day not in added}
    values = await reader.find_top_values(series.subject, days, partial_days)
    ids = [UUID(value) for value, _ in values.get("link", ())]
    return StatsLists(values, await find_names(reader, ids, shared_domain=shared_domain))


async def find_names(
    reader: ClickReader, link_ids: Sequence[UUID], *, shared_domain: str
) -> dict[UUID, tuple[str, str]]:
    """Return short URL and title of the links that exist."""
    if not link_ids:
        return {}
    async with reader.transaction() as tx:
        return await links.find_names(tx, link_ids, shared_domain=shared_domain)


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
    reader: ClickReader,
    subject: Subject,
    slices: Iterable[DaySlice],
    by_day: Mapping[int, StatsTotals],
    kept_since: int,
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
    totals = await reader.totals_by_bucket(subject, with_quarter_totals)
    for day_slice in whole_days:
        totals.setdefault(day_slice.bucket, StatsTotals()).add(by_day[day_slice.day])
    counted: dict[tuple[int, int], StatsTotals] = {}
    for day_slice in to_count:  # partial days of the time range, which its first and last bucket share
        key = day_slice.begin, day_slice.end
        if key not in counted:
            counted[key] = await reader.count_clicks(subject, day_slice)
        totals.setdefault(day_slice.bucket, StatsTotals()).add(counted[key])
    return totals


async def count_recent_clicks(
    db: Database, store: ClickStore, clock: Clock, subjects: Collection[UUID]
) -> Mapping[UUID, int]:
    """Count clicks of yesterday, today and tomorrow, because clocks differ: a few seeks for each subject.

    Subjects without clicks are missing.
    """
    today = day_of(clock())
    async with store.reader(db) as reader:
        counts = await reader.clicks_per_day(subjects, range(today - 1, today + 2))
    return {id_: sum(by_day.values()) for id_, by_day in counts.items()}


async def find_sparklines(
    db: Database, store: ClickStore, clock: Clock, account_id: UUID, link_ids: Sequence[UUID]
) -> Mapping[UUID, Sequence[int]]:
    """Return the clicks per day of each link on the last SPARKLINE_DAYS days in UTC, oldest day first.

    Return nothing while they are unavailable.
    """
    today = day_of(clock())
    days = range(today - SPARKLINE_DAYS + 1, today + 1)
    try:
        async with store.reader(db, account_id) as reader:
            counts = await reader.clicks_per_day(link_ids, days)
    except ClicksUnavailable:
        return {}
    return {id_: [counts.get(id_, {}).get(day, 0) for day in days] for id_ in link_ids}
