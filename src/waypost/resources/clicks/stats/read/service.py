"""Reads statistics of a link or an account in a time range, an account's with the clicks of its deleted links.

The caller checks whose a link is. What is read in one transaction comes from one snapshot, so all of it agrees.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from waypost.database import Tx
from waypost.kit.clock import DAY, from_microseconds, microseconds
from waypost.resources import links
from waypost.resources.clicks.days import DaySlice, KnownDays, TimeRange, known_days, slices_of
from waypost.resources.clicks.model import Subject
from waypost.resources.clicks.stats.query import StatsQuery
from waypost.resources.clicks.stats.read import totals
from waypost.resources.clicks.stats.read.top_values import top_values
from waypost.resources.clicks.stats.read.totals import StatsTotals
from waypost.resources.clicks.stats.read.values import RankedValues

_TOTAL = -1
"""The label of the time range; a bucket's label is its place in the series."""


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
    known = await known_days(tx)
    start, end = microseconds(query.range.start), _end(query.range.end, now, known.days)
    by_day = await totals.by_day(tx, subject.id, known.between(start // DAY, (end - 1) // DAY))
    slices = list(slices_of(_TOTAL, start, end, list(by_day)))
    all_slices = [*slices, *_slices_of_buckets(query, end, list(by_day))]
    found = await _sum_up(tx, subject, all_slices, by_day, known.kept_since)
    points = [found.get(label, StatsTotals()) for label in range(len(query.buckets))]
    return StatsSeries(subject, found.get(_TOTAL, StatsTotals()), points, known, by_day, slices)


async def read_total(tx: Tx, subject: Subject, time_range: TimeRange, known: KnownDays) -> StatsTotals:
    start, end = map(microseconds, time_range)
    by_day = await totals.by_day(tx, subject.id, known.between(start // DAY, (end - 1) // DAY))
    slices = slices_of(_TOTAL, start, end, list(by_day))
    return (await _sum_up(tx, subject, slices, by_day, known.kept_since)).get(_TOTAL, StatsTotals())


async def read_lists(tx: Tx, series: StatsSeries, *, shared_domain: str) -> StatsLists:
    """Of days whose clicks are gone, a part counts as the whole day."""
    partial = [each for each in series.slices if not each.is_whole_day and each.day >= series.known.kept_since]
    edges = [each.shorter_side() for each in partial]
    added = {each.day for sign, each in edges if sign > 0}
    days = {each.day: series.by_day[each.day].clicks for each in series.slices if each.day not in added}
    values = await top_values(tx, series.subject, days, edges)
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
        yield from slices_of(label, microseconds(buckets[label].start), until, days)


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
    found = await totals.by_label(tx, subject.id, of_quarters)
    for each in of_days:
        found.setdefault(each.label, StatsTotals()).add(by_day[each.day])
    counted: dict[tuple[int, int], StatsTotals] = {}
    for each in of_clicks:  # the edges of the time range, which its first and last bucket share
        if (each.begin, each.end) not in counted:
            counted[each.begin, each.end] = await totals.count_clicks(tx, subject, each)
        found.setdefault(each.label, StatsTotals()).add(counted[each.begin, each.end])
    return found
