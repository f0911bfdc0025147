"""Reads clicks and statistics from ClickHouse: sums of quarters of an hour, visitors counted exactly.

Visitors of a past day are read from `visitor_counts`, those of other days are counted from the clicks.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from uuid import UUID

from waypost.database import Database
from waypost.kit.clock import DAY, QUARTER
from waypost.resources.clicks.backends.clickhouse.client import ClickHouse, ResultRow
from waypost.resources.clicks.backends.clickhouse.count import ClickCounter, sum_links, to_totals
from waypost.resources.clicks.backends.clickhouse.matching import (
    Matching,
    find_link_ids,
    id_literal,
    match,
    numbers,
    on_days,
    where,
)
from waypost.resources.clicks.backends.clickhouse.upkeep import first_seen
from waypost.resources.clicks.backends.sql.top_values import rank, split_agents
from waypost.resources.clicks.days import DaySlice, KnownDays, PageSlice, SignedSlice, find_kept_since
from waypost.resources.clicks.label_values import LabelValues, sum_labels
from waypost.resources.clicks.model import (
    DIMENSIONS,
    TOP_COUNT,
    WHOLE_DAY,
    Click,
    ClickKind,
    Dimension,
    ListName,
    RankedValues,
    StatsTotals,
    Subject,
)
from waypost.resources.clicks.selection import ClickSelection
from waypost.resources.clicks.stats.tally import Counted, Tally

# ruff: noqa: S608  # these statements consist of constants of this package and of numbers

CLICK_COLUMNS = (
    "id, account_id, link_id, toUnixTimestamp64Micro(created_at), day, kind, bot, is_scan, ip, country, visitor_id,"
    " referrer, device, browser, platform, target"
)
_TOTALS = slice(0, 6)
"""Columns of a row of sums that are totals of statistics."""
_COUNTS: dict[ClickKind | None, Callable[[ResultRow], int]] = {
    "human": itemgetter(0),
    "crawler": itemgetter(2),
    "preview": itemgetter(3),
    "prefetch": itemgetter(6),
    None: lambda sums: sums[0] + sums[2] + sums[3] + sums[6],
}
"""Counts the visits of a kind in a row of sums."""
_LINKS = 20_000
"""Of a batch whose tags, hostnames and UTM parameters are read."""
_VALUES: Mapping[Dimension, str] = {
    "country": "toString(country)",
    "referrer": "referrer",
    "agent": "concat(device, '\\t', browser, '\\t', platform)",
    "link": "lower(hex(link_id))",
    "target": "toString(target)",
}

_SUM_OF_SLICES = """
SELECT bucket, sum(of_quarter.clicks), sum(of_quarter.scans), sum(of_quarter.crawlers), sum(of_quarter.previews),
  min(toUnixTimestamp64Micro(of_quarter.first_at)), max(toUnixTimestamp64Micro(of_quarter.last_at))
FROM (
  SELECT day, quarter, sum(clicks) AS clicks, sum(scans) AS scans, sum(crawlers) AS crawlers,
    sum(previews) AS previews, min(first_at) AS first_at, max(last_at) AS last_at
  FROM click_counts WHERE subject_id = {subject} AND day IN ({days}) GROUP BY day, quarter
) AS of_quarter
INNER JOIN ({slices}) AS slices ON of_quarter.day = slices.day
WHERE quarter BETWEEN low AND high GROUP BY bucket"""

_VISITORS_OF_SLICES = """
SELECT bucket, sum(multiIf(
    low = 0, firsts, high = 95, lasts,
    quarter = low, visitors, quarter = low + 1, new_in_15, quarter = low + 2, new_in_30, new_in_45))
FROM ({visitors}) AS of_quarter INNER JOIN ({slices}) AS slices ON of_quarter.day = slices.day
WHERE quarter BETWEEN low AND high GROUP BY bucket"""
"""As in the other store: see `changes_per_quarter` in stats/aggregate.py."""


class ClickHouseReader:
    max_counted = 50_000_000

    def __init__(self, client: ClickHouse, db: Database) -> None:
        self.transaction = db.read
        self._db = db
        self._client = client
        self._kept_since: int | None = None
        self._sums: dict[UUID, dict[int, ResultRow]] = {}
        self._counted: dict[UUID, tuple[dict[int, int], list[int]]] = {}

    async def find_known_days(self, subject: Subject) -> KnownDays:
        return KnownDays([*await self._sums_by_day(subject)], await self._find_kept_since())

    async def totals_by_day(self, subject: Subject, days: Sequence[int]) -> dict[int, StatsTotals]:
        sums = await self._sums_by_day(subject)
        totals = {day: to_totals(sums[day][_TOTALS]) for day in days if day in sums}
        if totals:
            for day, count in (await self._visitors_by_day(subject)).items():
                if day in totals:
                    totals[day].visitors = count
        return totals

    async def totals_by_bucket(self, subject: Subject, slices: Sequence[DaySlice]) -> dict[int, StatsTotals]:
        if not slices:
            return {}
        days = sorted({day_slice.day for day_slice in slices})
        texts = {"subject": id_literal(subject.id), "days": numbers(days), "slices": _slices_query(slices)}
        texts["visitors"] = await self._quarters_query(subject, days)
        rows = await self._client.query(_SUM_OF_SLICES.format(**texts))
        totals = {bucket: to_totals(counts) for bucket, *counts in rows}
        for bucket, count in await self._client.query(_VISITORS_OF_SLICES.format(**texts)):
            totals[bucket].visitors = count
        return totals

    async def count_part(self, subject: Subject, day_slice: DaySlice) -> StatsTotals:
        ((*counts, visitors),) = await self._client.query(
            "SELECT countIf(kind = 'human'), countIf(kind = 'human' AND is_scan), countIf(kind = 'crawler'),"
            " countIf(kind = 'preview'), minOrNullIf(toUnixTimestamp64Micro(created_at), kind = 'human'),"
            " maxOrNullIf(toUnixTimestamp64Micro(created_at), kind = 'human'), uniqExactIf(visitor_id, kind = 'human')"
            f" FROM clicks WHERE {where(subject, [day_slice])}"
        )
        totals = to_totals(counts)
        totals.visitors = visitors
        return totals

    async def find_top_values(
        self, subject: Subject, days: Mapping[int, int], partial_days: Sequence[SignedSlice], limit: int | None
    ) -> RankedValues:
        lists, limit = [], limit or TOP_COUNT
        for name in subject.dimensions:
            sources = self._sources(name, subject, days, partial_days)
            order = "" if name == "agent" else f"ORDER BY total DESC, value LIMIT {limit}"
            lists.append(
                f"SELECT '{name}' AS name, value, sum(clicks) AS total FROM ({sources})"
                f" GROUP BY value HAVING total > 0 {order}"
            )
        query = " UNION ALL ".join(f"SELECT * FROM ({values})" for values in lists)
        counts = split_agents(await self._client.query(query))
        return {name: values[:limit] for name, values in rank(counts).items()}

    async def find_label_values(
        self, subject: Subject, days: Mapping[int, int], partial_days: Sequence[SignedSlice], *, shared_domain: str
    ) -> LabelValues:
        """In batches of links: what they have is in PostgreSQL."""
        found: LabelValues = {}
        after = ""
        while True:
            query = (
                f"SELECT value, sum(clicks) AS total FROM ({self._sources('link', subject, days, partial_days)})"
                f" WHERE value > '{after}' GROUP BY value ORDER BY value LIMIT {_LINKS}"
            )
            clicks: dict[str, int] = {link: count for link, count in await self._client.query(query)}  # noqa: C416
            async with self.transaction() as tx:
                labels = await sum_labels(tx, clicks, shared_domain=shared_domain)
            found = {name: found.get(name, Counter()) + counts for name, counts in labels.items()}
            if len(clicks) < _LINKS:
                return found
            after = max(clicks)

    async def clicks_by_quarter(
        self, subject: Subject, slices: Sequence[DaySlice]
    ) -> Sequence[tuple[int, int, int, int]]:
        if not slices:
            return ()
        days = numbers(sorted({each.day for each in slices}))
        rows = await self._client.query(
            "SELECT bucket, of_quarter.day % 7 AS weekday, quarter, sum(clicks)"
            f" FROM (SELECT day, quarter, clicks FROM click_counts WHERE subject_id = {id_literal(subject.id)}"
            f" AND day IN ({days}) AND clicks > 0) AS of_quarter"
            f" INNER JOIN ({_slices_query(slices)}) AS slices ON of_quarter.day = slices.day"
            " WHERE quarter BETWEEN low AND high GROUP BY bucket, weekday, quarter"
        )
        return [(bucket, day, quarter, clicks) for bucket, day, quarter, clicks in rows]

    async def count_clicks(
        self,
        selection: ClickSelection,
        slices: Sequence[DaySlice],
        sizes: Mapping[int, int],  # noqa: ARG002  # the server divides the work
        tally: Tally,
    ) -> Counted:
        if not slices:
            return Counted()
        counter = ClickCounter(self._client, await self._match(selection), slices)
        return await counter.count(tally, self._db)

    async def sum_links(
        self, selection: ClickSelection, slices: Sequence[DaySlice], lists: Sequence[ListName]
    ) -> Counted:
        async with self.transaction() as tx:
            ids = await find_link_ids(tx, selection)
        return await sum_links(self._client, ids or (), slices, lists)

    async def count_by_day(
        self, selection: ClickSelection, kind: ClickKind | None, days: Sequence[DaySlice]
    ) -> dict[int, int]:
        counts: dict[int, int] = {}
        if selection.has_all:
            count, sums = _COUNTS[kind], await self._sums_by_day(selection.subject)
            counts = {each.day: count(sums[each.day]) for each in days if each.is_whole_day and each.day in sums}
            days = [each for each in days if not each.is_whole_day]
        if days:
            matching = await self._match(selection)
            whole_days = [each for each in days if each.is_whole_day]
            parts = [[each] for each in days if not each.is_whole_day]
            for slices in filter(None, (whole_days, *parts)):
                query = (
                    f"SELECT day, count() FROM clicks WHERE {matching.of_kind(kind)} AND {on_days(slices)} GROUP BY day"
                )
                counts |= _by_day(await self._client.query(query, matching.parameters, settings=matching.settings))
        return counts

    async def read_newest(
        self, selection: ClickSelection, kind: ClickKind | None, page_slice: PageSlice
    ) -> list[Click]:
        """Select ids first: of skipped clicks, only the columns of the order are read."""
        matching, order = await self._match(selection), "ORDER BY created_at DESC, id DESC"
        conditions = f"{matching.of_kind(kind)} AND {on_days(sorted(page_slice.days))}"
        limit = f"LIMIT {page_slice.take} OFFSET {page_slice.skip}"
        page = f"SELECT created_at, id FROM clicks WHERE {conditions} {order} {limit}"
        query = f"SELECT {CLICK_COLUMNS} FROM clicks WHERE {conditions} AND (created_at, id) IN ({page}) {order}"
        rows = await self._client.query(query, matching.parameters, settings=matching.settings)
        return [read_click(row) for row in rows]

    async def clicks_per_day(self, subjects: Collection[UUID], days: Sequence[int]) -> Mapping[UUID, Mapping[int, int]]:
        found: dict[UUID, dict[int, int]] = {}
        if subjects:
            rows = await self._client.query(
                f"SELECT subject_id, day, sum(clicks) AS count {_from_counts(subjects, days)}"
                " GROUP BY subject_id, day HAVING count > 0"
            )
            for id_, day, count in rows:
                found.setdefault(UUID(bytes=id_), {})[day] = count
        return found

    async def sum_days(self, subjects: Collection[UUID], days: Sequence[int]) -> Mapping[UUID, int]:
        if not subjects:
            return {}
        rows = await self._client.query(
            f"SELECT subject_id, sum(clicks) {_from_counts(subjects, days)} GROUP BY subject_id"
        )
        return {UUID(bytes=id_): count for id_, count in rows}

    @staticmethod
    def _sources(name: Dimension, subject: Subject, days: Iterable[int], partial_days: Sequence[SignedSlice]) -> str:
        """Return a query of values and clicks: of whole days, and of parts of days."""
        of_days = (
            f"SELECT value, toInt64(clicks) AS clicks FROM click_dimensions WHERE subject_id = {id_literal(subject.id)}"
            f" AND dimension = {DIMENSIONS[name]} AND day IN ({numbers(days) or 'NULL'})"
        )
        of_parts = (
            f"SELECT {_VALUES[name]} AS value, {sign} AS clicks FROM clicks"
            f" WHERE {where(subject, [day_slice])} AND kind = 'human'"
            for sign, day_slice, _ in partial_days
        )
        return " UNION ALL ".join([of_days, *of_parts])

    async def _match(self, selection: ClickSelection) -> Matching:
        async with self.transaction() as tx:
            return match(selection, await find_link_ids(tx, selection))

    async def _sums_by_day(self, subject: Subject) -> dict[int, ResultRow]:
        """Return the sums of all days, in order: a row of each, with the columns of _TOTALS and the prefetches."""
        if subject.id not in self._sums:
            rows = await self._client.query(
                "SELECT day, sum(clicks), sum(scans), sum(crawlers), sum(previews),"
                " min(toUnixTimestamp64Micro(first_at)), max(toUnixTimestamp64Micro(last_at)), sum(prefetches)"
                f" FROM click_counts WHERE subject_id = {id_literal(subject.id)} GROUP BY day ORDER BY day"
            )
            self._sums[subject.id] = {day: sums for day, *sums in rows}
        return self._sums[subject.id]

    async def _visitors_by_day(self, subject: Subject) -> dict[int, int]:
        visitors, days_to_count = await self._find_counted(subject)
        if days_to_count:
            query = (
                "SELECT day, uniqExact(visitor_id) FROM clicks"
                f" WHERE {_where_days(subject, days_to_count)} AND kind = 'human' GROUP BY day"
            )
            visitors = visitors | _by_day(await self._client.query(query))
        return visitors

    async def _find_counted(self, subject: Subject) -> tuple[dict[int, int], list[int]]:
        """Return (visitors of the days that were counted, the other days with clicks)."""
        if subject.id not in self._counted:
            kept_since, sums = await self._find_kept_since(), await self._sums_by_day(subject)
            rows = await self._client.query(
                "SELECT day, max(counted), argMax(visitors, counted) FROM visitor_counts"
                f" WHERE subject_id = {id_literal(subject.id)} AND quarter = {WHOLE_DAY} GROUP BY day"
            )
            clicks = {day: row[0] for day, row in sums.items()}
            visitors = {day: n for day, counted, n in rows if counted == clicks.get(day) or day < kept_since}
            missing = [day for day, n in clicks.items() if n and day not in visitors and day >= kept_since]
            self._counted[subject.id] = visitors, missing
        return self._counted[subject.id]

    async def _quarters_query(self, subject: Subject, days: Sequence[int]) -> str:
        """Return a query of the visitors of each quarter of these days."""
        visitors, missing = await self._find_counted(subject)
        counted, days_to_count = [day for day in days if day in visitors], [day for day in missing if day in set(days)]
        columns = ("visitors", "new_in_15", "new_in_30", "new_in_45", "firsts", "lasts")
        newest = ", ".join(f"argMax({name}, counted) AS {name}" for name in columns)
        queries = [
            (
                f"SELECT day, quarter, {newest} FROM visitor_counts WHERE subject_id = {id_literal(subject.id)}"
                f" AND quarter >= 0 AND day IN ({numbers(counted) or 'NULL'}) GROUP BY day, quarter"
            )
        ]
        if days_to_count:
            clicks = "SELECT 0 AS subject_id, account_id, day, created_at, visitor_id FROM clicks"
            seen = first_seen(f"{clicks} WHERE {_where_days(subject, days_to_count)} AND kind = 'human'")
            queries.append(f"SELECT day, quarter, {', '.join(columns)} FROM ({seen}) WHERE quarter >= 0")
        return " UNION ALL ".join(queries)

    async def _find_kept_since(self) -> int:
        if self._kept_since is None:
            async with self.transaction() as tx:
                self._kept_since = await find_kept_since(tx)
        return self._kept_since


def read_click(row: ResultRow) -> Click:
    id_, account_id, link_id, at, day, kind, bot, *rest = row
    return Click(id_, account_id, link_id, at, day, at // QUARTER % 96, kind, bot or None, *rest)


def _by_day(rows: Sequence[ResultRow]) -> dict[int, int]:
    return {day: count for day, count in rows}  # noqa: C416  # rows are sequences of any length


def _from_counts(subjects: Collection[UUID], days: Sequence[int]) -> str:
    ids = ", ".join(map(id_literal, subjects))
    return f"FROM click_counts WHERE subject_id IN ({ids}) AND day IN ({numbers(days)})"


def _where_days(subject: Subject, days: Sequence[int]) -> str:
    return where(subject, [DaySlice(0, day, day * DAY, (day + 1) * DAY) for day in days])


def _slices_query(slices: Sequence[DaySlice]) -> str:
    rows = ", ".join(f"({each.bucket}, {each.day}, {each.first_quarter}, {each.last_quarter})" for each in slices)
    return (
        "SELECT toInt32(slice.1) AS bucket, toInt32(slice.2) AS day, slice.3 AS low, slice.4 AS high"
        f" FROM (SELECT arrayJoin([{rows}]) AS slice)"
    )
