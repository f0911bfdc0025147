"""Reads statistics of a link or an account in a time range. An account's include the clicks of its deleted links.

The API, pages, shares, files and mails call the same function, with a query that was parsed once:

    query = read_stats_query(parameters, ACCOUNT_FILTERS, Problems(), now)  # or new_stats_query(…), with filters
    async with click_store.reader(db, account_id) as reader:
        statistics = await read_statistics(
            reader, Subject(account_id), query, now, lists=("country", "hour"), shared_domain=shared_domain
        )

Without filters, statistics are sums that exist, as they are of a single link. Otherwise the clicks of the time range
are counted, all lists in one pass: ask for as many lists as are shown, and for none if only the series is. The caller
checks the owner of a link. One transaction reads one snapshot, so all results agree.
"""

import heapq
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, NamedTuple, NoReturn
from uuid import UUID
from zoneinfo import ZoneInfo

from waypost.database import Database
from waypost.kit.clock import DAY, QUARTER, Clock, from_microseconds, microseconds, timestamp
from waypost.kit.errors import Invalid
from waypost.resources import links
from waypost.resources.clicks.days import HOUR, TOTAL_BUCKET, DaySlice, KnownDays, day_of, slice_by_day
from waypost.resources.clicks.filters import Filters
from waypost.resources.clicks.label_values import sum_labels
from waypost.resources.clicks.model import LABELS, TOP_COUNT, ListName, StatsTotals, Subject
from waypost.resources.clicks.selection import ClickSelection, select_clicks
from waypost.resources.clicks.stats.query import StatsQuery, change_of_offset, offset_of
from waypost.resources.clicks.stats.tally import Counted, Tally, TooManyClicks, bucket_of
from waypost.resources.clicks.store import ClickReader, ClickStore, ClicksUnavailable

MAX_TOP_LINKS = 1_000
_FEW_CLICKS = 20_000
"""All links that they are of are ranked within milliseconds; of more clicks, values are cached."""
HOURS: Final = "hour"
OTHERS: Final = "(other)"
"""The name of all entries that are hidden."""
StatsList = ListName | Literal["hour"]
_LISTS: Mapping[str, StatsList] = {
    "countries": "country",
    "referrers": "referrer",
    "devices": "device",
    "browsers": "browser",
    "platforms": "platform",
    "hours": HOURS,
}
LINK_LISTS: Mapping[str, StatsList] = {**_LISTS, "targets": "target"}
ACCOUNT_LISTS: Mapping[str, StatsList] = {
    **_LISTS,
    "top_links": "link",
    "tags": "tag",
    "hostnames": "hostname",
    "utm_sources": "utm_source",
    "utm_mediums": "utm_medium",
    "utm_campaigns": "utm_campaign",
}
"""By the names in the API."""
PAGE_LISTS: Mapping[str, StatsList] = {**ACCOUNT_LISTS, "utm_terms": "utm_term", "utm_contents": "utm_content"}
"""Of the pages of an account, and their files."""
_HOURS_PER_WEEK = 168
_EPOCH_HOUR = 3 * 24  # of the week: 1970 began on a Thursday


class ValueCount(NamedTuple):
    value: str
    """Of links 32 hex digits."""
    clicks: int
    visitors: int | None = None
    """None unless they were requested and are known."""


class HourCount(NamedTuple):
    weekday: int
    """1 is Monday."""
    hour: int
    clicks: int


@dataclass(frozen=True, slots=True)
class Hidden:
    """What shares do not show of statistics, because few people clicked. Scans are not shown either."""

    others: Mapping[ListName, int]
    """Clicks of the entries that are not in a list."""
    points: Collection[int]
    """Indices of the points without numbers."""


@dataclass(frozen=True, slots=True)
class Statistics:
    total: StatsTotals
    points: list[StatsTotals]
    """One for each bucket of the query."""
    lists: Mapping[ListName, list[ValueCount]]
    """Most clicks first, ties in the order of the values."""
    hours: list[HourCount]
    """Of the week, in the query's time zone. Those without clicks are missing."""
    names: Mapping[UUID, tuple[str, str]]
    """Short URL and title of the listed links that exist."""
    previous: "Statistics | None" = None
    """Of the query's comparison, without lists."""
    hidden: Hidden | None = None


@dataclass(frozen=True, slots=True)
class _Scope:
    """What is read of a time range."""

    selection: ClickSelection
    query: StatsQuery
    known: KnownDays
    by_day: Mapping[int, StatsTotals]
    """Of the subject, without filters."""
    slices: Sequence[DaySlice]
    """The time range, a slice for each day with visits."""
    end: int
    lists: Collection[StatsList]
    shared_domain: str
    limit: int | None

    @property
    def starts(self) -> list[int]:
        return [microseconds(bucket.start) for bucket in self.query.buckets]

    def split_kept(self) -> tuple[list[DaySlice], list[DaySlice]]:
        """Return (slices of days whose clicks were deleted, the others)."""
        deleted = [each for each in self.slices if each.day < self.known.kept_since]
        return deleted, [*self.slices[len(deleted) :]]


async def read_statistics(
    reader: ClickReader,
    subject: Subject,
    query: StatsQuery,
    now: datetime,
    *,
    shared_domain: str,
    lists: Collection[StatsList] = (),
    limit: int | None = None,
) -> Statistics:
    """`limit`: of the entries of each list. None: TOP_COUNT, which is faster than any other.

    Raises NotFound for a filter by a link that the account does not have; and Invalid on `from`, or on `compare` for
    the earlier time range, if filters would have to count too many clicks, or deleted ones.
    """
    async with reader.transaction() as tx:
        selection = await select_clicks(tx, subject, query.filters, shared_domain=shared_domain)
    scope = await _scope(reader, selection, query, now, lists, shared_domain=shared_domain, limit=limit)
    statistics = await _read(reader, scope, subject)
    if query.comparison is None:
        return statistics
    earlier = await _scope(reader, selection, query.comparison, now, (), shared_domain=shared_domain)
    try:
        return replace(statistics, previous=await _read(reader, earlier, subject))
    except Invalid as error:
        raise Invalid({"compare": error.errors["from"]}) from error


async def _scope(
    reader: ClickReader,
    selection: ClickSelection,
    query: StatsQuery,
    now: datetime,
    lists: Collection[StatsList],
    *,
    shared_domain: str,
    limit: int | None = None,
) -> _Scope:
    known = await reader.find_known_days(selection.subject)
    start, end = microseconds(query.range.start), _end(query.range.end, now, known.days)
    by_day = await reader.totals_by_day(selection.subject, known.between(start // DAY, (end - 1) // DAY))
    slices = list(slice_by_day(TOTAL_BUCKET, start, end, list(by_day)))
    return _Scope(selection, query, known, by_day, slices, end, lists, shared_domain, limit)


async def _read(reader: ClickReader, scope: _Scope, subject: Subject) -> Statistics:
    """Choose what is read: sums of the subject, or its clicks."""
    if not scope.selection.has_all:
        counted, deleted = await _count(reader, scope, scope.lists)
        total, points = _add_up(scope, counted, deleted)
        hours = _local_hours(counted.clicks, ZoneInfo(scope.query.timezone)) if HOURS in scope.lists else []
        return await _statistics(reader, scope, total, points, counted, hours)
    total, points = await _sum_series(reader, scope)
    hours = await _sum_hours(reader, scope) if HOURS in scope.lists else []
    lists = [name for name in scope.lists if name != HOURS]
    if lists and scope.query.has_visitors and not scope.split_kept()[0]:
        counted, _ = await _count(reader, scope, lists)
    else:
        counted = await _sum_lists(reader, scope, subject, total)
    return await _statistics(reader, scope, total, points, counted, hours)


async def _statistics(
    reader: ClickReader,
    scope: _Scope,
    total: StatsTotals,
    points: list[StatsTotals],
    counted: Counted,
    hours: list[HourCount],
) -> Statistics:
    if labels := [name for name in LABELS if name in scope.lists and name not in counted.values]:
        async with reader.transaction() as tx:
            found = await sum_labels(tx, counted.values.get("link", {}), shared_domain=scope.shared_domain)
        counted.values |= {name: found[name] for name in labels}
    lists: dict[ListName, list[ValueCount]] = {
        name: _rank(counted.values.get(name, {}), counted.visitors_of.get(name, {}), scope.limit or TOP_COUNT)
        for name in scope.lists
        if name != HOURS
    }
    ids = [UUID(link) for link, *_ in lists.get("link", ())]
    names = await find_names(reader, scope.selection.subject.account_id, ids, shared_domain=scope.shared_domain)
    return Statistics(total, points, lists, hours, names)


async def _count(reader: ClickReader, scope: _Scope, lists: Collection[StatsList]) -> tuple[Counted, Collection[int]]:
    """Return what clicks add up to, and the quarters of an hour whose visitors are not known.

    On days whose clicks were deleted, what the links had is added up, if links are all that filters ask for.
    """
    selection, (deleted, kept) = scope.selection, scope.split_kept()
    if deleted and selection.clauses:
        since = timestamp(from_microseconds(scope.known.kept_since * DAY))
        raise Invalid({"from": [f"Only clicks since {since} are kept, and filters need them. Choose a later start."]})
    sizes = {each.day: scope.by_day[each.day].visits for each in kept}
    if selection.links and selection.links.few is not None:
        per_day = (await reader.clicks_per_day(selection.links.few, list(sizes))).values() if sizes else ()
        sizes = {day: sum(of_link.get(day, 0) for of_link in per_day) for day in sizes}
    for each in kept:
        if not each.is_whole_day:
            sizes[each.day] = sizes[each.day] * (each.end - each.begin) // DAY
    if sum(sizes.values()) > reader.max_counted:
        _refuse(kept, sizes, reader.max_counted)
    names = [name for name in lists if name != HOURS]
    limit, has_visitors = scope.limit or TOP_COUNT, scope.query.has_visitors
    tally = Tally(scope.starts, names, scope.shared_domain, limit=limit, has_visitors=has_visitors)
    try:
        counted = await reader.count_clicks(selection, kept, sizes, tally)
    except TooManyClicks:
        _refuse(kept, sizes, sum(sizes.values()) // 2)
    if not deleted:
        return counted, ()
    added = await reader.sum_links(selection, deleted, names)
    counted.add(added)
    if added.clicks:
        counted.visitors_of.clear()
    return counted, added.clicks.keys()


def _refuse(slices: Sequence[DaySlice], sizes: Mapping[int, int], limit: int) -> NoReturn:
    """Raise Invalid that names a start since which there are about `limit` visits."""
    left, start = limit, slices[-1].end - HOUR
    for each in reversed(slices):
        size = sizes[each.day]
        if size > left:
            start = min(start, -(-(each.end - (each.end - each.begin) * left // size) // HOUR) * HOUR)
            break
        left, start = left - size, each.begin
    count = f"about {sum(sizes.values()):,} visits"
    later = timestamp(from_microseconds(start))
    raise Invalid({"from": [f"There are {count} in this time range, too many to count. Start later, at {later}."]})


def _add_up(scope: _Scope, counted: Counted, unknown: Collection[int]) -> tuple[StatsTotals, list[StatsTotals]]:
    """Return the totals of the time range and of each bucket."""
    starts, points = scope.starts, [StatsTotals() for _ in scope.query.buckets]
    total = replace(counted.total, visitors=None if unknown else counted.visitors[TOTAL_BUCKET])
    if points:
        for quarter, count in counted.clicks.items():
            points[bucket_of(starts, quarter)].clicks += count
        for quarter, count in counted.scans.items():
            points[bucket_of(starts, quarter)].scans += count
        for bucket, point in enumerate(points):
            point.visitors = counted.visitors[bucket]
        for quarter in unknown:
            points[bucket_of(starts, quarter)].visitors = None
    return total, points


def _local_hours(clicks: Mapping[int, int], zone: ZoneInfo) -> list[HourCount]:
    """`clicks`: by quarter of an hour since 1970."""
    hours = Counter[tuple[int, int]]()
    for quarter, count in clicks.items():
        local = from_microseconds(quarter * QUARTER).astimezone(zone)
        hours[local.isoweekday(), local.hour] += count
    return [HourCount(*hour, count) for hour, count in sorted(hours.items())]


def _rank(clicks: Mapping[str, int], visitors: Mapping[str, int], limit: int) -> list[ValueCount]:
    ranked = heapq.nsmallest(limit, clicks.items(), key=lambda counted: (-counted[1], counted[0]))
    return [ValueCount(value, count, visitors.get(value)) for value, count in ranked if count > 0]


# without filters


async def _sum_series(reader: ClickReader, scope: _Scope) -> tuple[StatsTotals, list[StatsTotals]]:
    all_slices = [*scope.slices, *_slices_of_buckets(scope.query, scope.end, list(scope.by_day))]
    totals = await _sum_up(reader, scope.selection.subject, all_slices, scope.by_day, scope.known.kept_since)
    points = [totals.get(bucket, StatsTotals()) for bucket in range(len(scope.query.buckets))]
    return totals.get(TOTAL_BUCKET, StatsTotals()), points


async def _sum_lists(reader: ClickReader, scope: _Scope, subject: Subject, total: StatsTotals) -> Counted:
    """A partial day whose clicks were deleted counts as a whole day."""
    lists = [name for name in scope.lists if name != HOURS]
    counted = Counted()
    if not lists:
        return counted
    slices, by_day, own = scope.slices, scope.by_day, scope.selection.subject
    partial = [each for each in slices if not each.is_whole_day and each.day >= scope.known.kept_since]
    partial_days = [day_slice.cheaper_half(by_day[day_slice.day].clicks) for day_slice in partial]
    added = {each.day_slice.day for each in partial_days if each.sign > 0}
    days = {day_slice.day: by_day[day_slice.day].clicks for day_slice in slices if day_slice.day not in added}
    values = await reader.find_top_values(own, days, partial_days, scope.limit)
    counted.values = {name: Counter(dict(ranked)) for name, ranked in values.items()}
    if own != subject:  # filters of an account that select one link
        counted.values["link"] = Counter({own.id.hex: total.clicks})
    elif own.link_id is None and not set(lists).isdisjoint(LABELS):
        labels = await reader.find_label_values(own, days, partial_days, shared_domain=scope.shared_domain)
        counted.values.update({str(name): counts for name, counts in labels.items()})
    return counted


async def _sum_hours(reader: ClickReader, scope: _Scope) -> list[HourCount]:
    slices, offsets = _split_by_offset(scope.slices, ZoneInfo(scope.query.timezone))
    hours = Counter[int]()
    rows = await reader.clicks_by_quarter(scope.selection.subject, slices)
    for bucket, day, quarter, clicks in [*rows, *await _clicks_outside(reader, scope, slices)]:
        hours[(day * DAY + quarter * QUARTER + offsets[bucket]) // HOUR % _HOURS_PER_WEEK] += clicks
    local = Counter({(hour + _EPOCH_HOUR) % _HOURS_PER_WEEK: clicks for hour, clicks in hours.items()})
    return [HourCount(hour // 24 + 1, hour % 24, clicks) for hour, clicks in sorted(local.items()) if clicks]


def _split_by_offset(slices: Iterable[DaySlice], zone: ZoneInfo) -> tuple[list[DaySlice], list[int]]:
    """Divide slices where clocks change. Return them with the index of their offset as bucket, and the offsets."""
    offsets: dict[int, int] = {}
    split: list[DaySlice] = []
    for each in slices:
        begin = each.begin
        while begin < each.end:
            offset, end = offset_of(begin, zone), each.end
            if offset_of(end - 1, zone) != offset:
                end = min(end, -(-change_of_offset(begin, end, zone) // QUARTER) * QUARTER)
            split.append(DaySlice(offsets.setdefault(offset, len(offsets)), each.day, begin, end))
            begin = end
    return split, list(offsets)


async def _clicks_outside(
    reader: ClickReader, scope: _Scope, slices: Sequence[DaySlice]
) -> list[tuple[int, int, int, int]]:
    """Return what to subtract from the quarters of an hour in which the time range begins and ends."""
    if not slices:
        return []
    first, last, outside = slices[0], slices[-1], []
    before = first._replace(begin=first.begin // QUARTER * QUARTER, end=first.begin)
    after = last._replace(begin=last.end, end=-(-last.end // QUARTER) * QUARTER)
    for part in (before, after):
        if part.begin < part.end and part.day >= scope.known.kept_since:
            counted = await reader.count_part(scope.selection.subject, part)
            outside.append((part.bucket, part.day, part.first_quarter, -counted.clicks))
    return outside


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
            counted[key] = await reader.count_part(subject, day_slice)
        totals.setdefault(day_slice.bucket, StatsTotals()).add(counted[key])
    return totals


async def find_names(
    reader: ClickReader, account_id: UUID, link_ids: Sequence[UUID], *, shared_domain: str
) -> dict[UUID, tuple[str, str]]:
    """Return short URL and title of the links that the account has."""
    async with reader.transaction() as tx:
        return await links.find_names(tx, account_id, link_ids, shared_domain=shared_domain)


async def find_filtered_names(
    reader: ClickReader, account_id: UUID, filters: Filters, *, shared_domain: str
) -> dict[str, str]:
    """Return the short URLs of the account's links that filters name, by id."""
    ids = [UUID(text) for each in filters.of_links if each.name == "link_id" for text, _ in each.values]
    names = await find_names(reader, account_id, ids, shared_domain=shared_domain)
    return {str(id_): short_url for id_, (short_url, _) in names.items()}


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
    db: Database, store: ClickStore, clock: Clock, account_id: UUID, link_ids: Sequence[UUID], count: int
) -> Mapping[UUID, Sequence[int]]:
    """Return the clicks per day of each link on the last `count` days in UTC, oldest day first.

    Return nothing while they are unavailable.
    """
    days = _last_days(clock, count)
    try:
        async with store.reader(db, account_id) as reader:
            counts = await reader.clicks_per_day(link_ids, days)
    except ClicksUnavailable:
        return {}
    return {id_: [counts.get(id_, {}).get(day, 0) for day in days] for id_ in link_ids}


async def find_top_links(
    db: Database, store: ClickStore, clock: Clock, account_id: UUID, among: Sequence[UUID] | None, count: int
) -> Sequence[UUID] | None:
    """Return the links with clicks on the last `count` days in UTC, most clicks first, ties in the order of `among`.

    `among`: at most MAX_TOP_LINKS. None: of the account, deleted ones included, TOP_COUNT if it has very many clicks,
    and otherwise MAX_TOP_LINKS. Return None while they are unavailable.
    """
    subject = Subject(account_id)
    try:
        async with store.reader(db, account_id) as reader:
            if among is not None:
                sums = await reader.sum_days(among, _last_days(clock, count))
                return sorted((id_ for id_ in among if sums.get(id_)), key=lambda id_: -sums[id_])
            totals = await reader.totals_by_day(subject, _last_days(clock, count))
            clicks = {day: total.clicks for day, total in totals.items() if total.clicks}
            limit = None if sum(clicks.values()) > _FEW_CLICKS else MAX_TOP_LINKS
            ranked = await reader.find_top_values(subject, clicks, [], limit)
    except ClicksUnavailable:
        return None
    return [UUID(link) for link, _ in ranked.get("link", ())]


def _last_days(clock: Clock, count: int) -> range:
    today = day_of(clock())
    return range(today - count + 1, today + 1)
