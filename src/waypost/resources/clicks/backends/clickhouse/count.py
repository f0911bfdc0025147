"""Counts the clicks that filters select, by a few statements of which each reads the columns it needs."""
# ruff: noqa: S608  # these statements consist of constants of this package, of numbers and ids

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from waypost.database import Database
from waypost.kit.clock import QUARTER, from_microseconds
from waypost.resources.clicks.backends.clickhouse.client import ClickHouse, ClickStoreUnavailable, ResultRow
from waypost.resources.clicks.backends.clickhouse.matching import LARGE, Matching, is_one_of, numbers, on_days
from waypost.resources.clicks.backends.sql.top_values import split_agents
from waypost.resources.clicks.days import TOTAL_BUCKET, DaySlice
from waypost.resources.clicks.label_values import values_of
from waypost.resources.clicks.model import DIMENSIONS, QUARTERS_PER_DAY, LabelName, ListName, StatsTotals
from waypost.resources.clicks.stats.tally import MAX_VALUES, Counted, Tally, TooManyClicks, bucket_of
from waypost.resources.links.labels import find_labels

COUNT_SECONDS = 2.0
_TIMEOUT_EXCEEDED = 159
_VALUES: Mapping[ListName, str] = {
    "country": "toString(country)",
    "referrer": "referrer",
    "device": "toString(device)",
    "browser": "toString(browser)",
    "platform": "toString(platform)",
    "target": "toString(target)",
    "link": "lower(hex(link_id))",
}
_QUARTER = f"intDiv(toUnixTimestamp64Micro(created_at), {QUARTER})"
_VISITORS = "uniqExact((day, visitor_id))"


class ClickCounter:
    """Counts what matches on some days."""

    def __init__(self, client: ClickHouse, matching: Matching, slices: Sequence[DaySlice]) -> None:
        self._client = client
        self._matching = matching
        days = on_days(slices)
        self._visits = f"FROM clicks WHERE {matching.others} AND {days}"
        self._people = f"FROM clicks WHERE {matching.people} AND kind = 'human' AND {days}"

    async def count(self, tally: Tally, db: Database) -> Counted:
        """Raises TooManyClicks when a statement takes longer than COUNT_SECONDS."""
        try:
            counted = await self._count_times()
            await self._count_visitors(counted, tally.starts)
            await self._count_values(counted, tally)
            if tally.needs_labels:
                await self._count_visitors_of_labels(counted, tally, db)
        except ClickStoreUnavailable as error:
            if error.code == _TIMEOUT_EXCEEDED:
                raise TooManyClicks from error
            raise
        return counted

    async def _count_times(self) -> Counted:
        counted, at = Counted(), "toUnixTimestamp64Micro(created_at)"
        people = await self._query(
            f"SELECT {_QUARTER} AS quarter, count(), countIf(is_scan), min({at}), max({at}) {self._people}"
            " GROUP BY quarter"
        )
        for quarter, clicks, scans, first, last in people:
            counted.clicks[quarter] = clicks
            counted.scans[quarter] = scans
            counted.total.add(to_totals((clicks, scans, 0, 0, first, last)))
        for crawlers, previews in await self._query(
            f"SELECT countIf(kind = 'crawler'), countIf(kind = 'preview') {self._visits}"
        ):
            counted.total.add(StatsTotals(crawlers=crawlers, previews=previews))
        return counted

    async def _count_visitors(self, counted: Counted, starts: Sequence[int]) -> None:
        """Count again by bucket if one begins within a day."""
        visitors = counted.visitors
        of_days = await self._query(f"SELECT day, uniqExact(visitor_id) {self._people} GROUP BY day")
        visitors[TOTAL_BUCKET] = sum(count for _, count in of_days)
        if not starts or not counted.clicks:
            return
        slots = {(quarter // QUARTERS_PER_DAY, bucket_of(starts, quarter)) for quarter in counted.clicks}
        if len(slots) == len(of_days):
            buckets = dict(slots)
            for day, count in of_days:
                visitors[buckets[day]] += count
            return
        first, last = min(bucket for _, bucket in slots), max(bucket for _, bucket in slots)
        begins = ", ".join(str(start // QUARTER) for start in starts[first : last + 1])
        rows = await self._query(
            f"SELECT roundDown({_QUARTER}, [{begins}]) AS begin, day, uniqExact(visitor_id) {self._people}"
            " GROUP BY begin, day"
        )
        for begin, _, count in rows:
            visitors[max(first, bucket_of(starts, begin))] += count

    async def _count_values(self, counted: Counted, tally: Tally) -> None:
        """Count all links: labels need them."""
        has_visitors = tally.has_visitors
        names = [name for name in _VALUES if name in tally.lists or (name == "link" and "link" in tally.columns)]
        lists = []
        for name in names:
            limit = MAX_VALUES + 1 if name == "link" else tally.limit + 1
            visitors = f", {_VISITORS}" if has_visitors else ""
            lists.append(
                f"SELECT '{name}', {_VALUES[name]} AS value, count() AS clicks{visitors} {self._people}"
                f" GROUP BY value ORDER BY clicks DESC, value LIMIT {limit}"
            )
        rows = await self._query(" UNION ALL ".join(f"SELECT * FROM ({values})" for values in lists)) if lists else ()
        for name, value, clicks, *visitors_of_value in rows:
            if name == "target" and not value:
                continue
            counted.values.setdefault(name, Counter())[value] = clicks
            if visitors_of_value:
                counted.visitors_of.setdefault(name, Counter())[value] = visitors_of_value[0]
        if len(counted.values.get("link", ())) > MAX_VALUES:
            raise TooManyClicks

    async def _count_visitors_of_labels(self, counted: Counted, tally: Tally, db: Database) -> None:
        """Only PostgreSQL knows what links have: send the values of each link, as numbers."""
        clicks = counted.values.get("link", Counter[str]())
        async with db.read() as tx:
            labels = await find_labels(tx, [UUID(link) for link in clicks], shared_domain=tally.shared_domain)
        label_numbers: dict[tuple[LabelName, str], int] = {}
        pairs = [
            f"{link_id.hex}{label_numbers.setdefault((name, value), len(label_numbers)):08}"
            for link_id, of_link in labels.items()
            for name, values in values_of(of_link).items()
            for value in values
            if name in tally.lists
        ]
        if len(pairs) > MAX_VALUES:
            raise TooManyClicks
        of_links = (
            "SELECT toFixedString(unhex(substring(pairs, 40 * number + 1, 32)), 16) AS id,"
            f" toUInt32(substring(pairs, 40 * number + 33, 8)) AS label FROM numbers({len(pairs)})"
        )
        rows = await self._query(
            f"WITH '{''.join(pairs)}' AS pairs"
            f" SELECT label, {_VISITORS} FROM (SELECT day, visitor_id, link_id {self._people}) AS matching"
            f" INNER JOIN ({of_links}) AS labels ON matching.link_id = labels.id GROUP BY label",
            LARGE,
        )
        names = list(label_numbers)
        for number, visitors in rows:
            name, value = names[number]
            counted.visitors_of.setdefault(name, Counter())[value] = visitors

    async def _query(self, sql: str, settings: Mapping[str, Any] | None = None) -> Sequence[ResultRow]:
        parameters, more = self._matching.parameters, {**self._matching.settings, **(settings or {})}
        return await self._client.query(sql, parameters, settings=more, limit=COUNT_SECONDS)


def to_totals(counts: Sequence[Any]) -> StatsTotals:
    """`counts`: clicks, scans, crawlers, previews, and the times of the first and the last click."""
    clicks, scans, crawlers, previews, first_at, last_at = counts
    times = (None if at is None else from_microseconds(at) for at in (first_at, last_at))
    return StatsTotals(clicks, 0, scans, crawlers, previews, *times)


async def sum_links(
    client: ClickHouse, ids: Sequence[UUID], slices: Sequence[DaySlice], lists: Collection[ListName]
) -> Counted:
    """Add up the sums of links, without visitors. Parts of days are quarters of an hour; in lists, the whole day."""
    counted = Counted()
    where = f"{is_one_of('subject_id', ids)} AND day IN ({numbers([each.day for each in slices])})"
    rows = await client.query(
        "SELECT day, quarter, sum(clicks), sum(scans), sum(crawlers), sum(previews),"
        " min(toUnixTimestamp64Micro(first_at)), max(toUnixTimestamp64Micro(last_at))"
        f" FROM click_counts WHERE {where} GROUP BY day, quarter",
        settings=LARGE,
    )
    counted.add_quarters(((day, quarter, to_totals(sums)) for day, quarter, *sums in rows), slices)
    if lists:
        names = {number: name for name, number in DIMENSIONS.items()}
        by_value = await client.query(
            f"SELECT dimension, value, sum(clicks) FROM click_dimensions WHERE {where} GROUP BY dimension, value",
            settings=LARGE,
        )
        by_link = await client.query(
            f"SELECT 'link', lower(hex(subject_id)), sum(clicks) FROM click_counts WHERE {where} GROUP BY subject_id",
            settings=LARGE,
        )
        counted.values = split_agents([*((names[number], *counts) for number, *counts in by_value), *by_link])
    return counted
