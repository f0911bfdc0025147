"""Reads the clicks of an export from ClickHouse. Hostnames and slugs of their links are in PostgreSQL."""
# ruff: noqa: S608  # these statements consist of constants of this package and of numbers

from collections.abc import AsyncIterator, Collection, Sequence
from uuid import UUID

from sqlalchemy import select

from waypost.database import Database, batches_of
from waypost.kit.clock import from_microseconds
from waypost.resources.clicks.backends.clickhouse.client import LONG_TIMEOUT, ClickHouse, ResultRow
from waypost.resources.clicks.backends.clickhouse.matching import id_literal, where
from waypost.resources.clicks.backends.clickhouse.read import CLICK_COLUMNS, read_click
from waypost.resources.clicks.days import DaySlice, in_values
from waypost.resources.clicks.model import WHOLE_DAY
from waypost.resources.clicks.store import DayStatistics, ExportedClick, ExportQuery
from waypost.resources.links import SHORT_LINKS

_PAGE_SIZE = 50_000  # each query looks through the times of the whole day
_BATCH_SIZE = 5_000  # clicks that are built without letting others run


_COUNTS = (
    "countIf(kind = 'human'), uniqExactIf(visitor_id, kind = 'human'), countIf(kind = 'human' AND is_scan),"
    " countIf(kind = 'crawler'), countIf(kind = 'preview'), countIf(kind = 'prefetch')"
)
"""The totals of `DayStatistics`."""
_COUNTS_OF_DAY = (
    "SELECT subject_id, toInt16(quarter), sum(clicks), sum(crawlers), sum(previews), sum(prefetches), sum(scans),"
    " min(toUnixTimestamp64Micro(first_at)), max(toUnixTimestamp64Micro(last_at))"
    " FROM click_counts {where} GROUP BY subject_id, quarter ORDER BY subject_id, quarter"
)
_VISITORS_OF_DAY = (
    "SELECT subject_id, quarter, visitors, new_in_15, new_in_30, new_in_45, firsts, lasts"
    " FROM visitor_counts FINAL {where}"
)
_VALUES_OF_DAY = (
    "SELECT subject_id, dimension, value, sum(clicks) FROM click_dimensions {where}"
    " GROUP BY subject_id, dimension, value ORDER BY subject_id, dimension, value"
)
_NO_VISITORS = (0,) * 6


class ClickHouseExporter:
    def __init__(self, client: ClickHouse, db: Database, query: ExportQuery, shared_domain: str) -> None:
        self._client = client
        self._db = db
        self._query = query
        self._shared_domain = shared_domain

    async def find_days(self) -> list[int]:
        subject = self._query.subject
        condition = f"account_id = {id_literal(subject.account_id)}" if subject else "true"
        rows = await self._client.query(
            f"SELECT DISTINCT day FROM clicks WHERE {condition} ORDER BY day", limit=LONG_TIMEOUT
        )
        return [day for (day,) in rows]

    async def count(self, day_slice: DaySlice) -> int:
        rows = await self._client.query(
            f"SELECT count() FROM clicks WHERE {self._where(day_slice)}", limit=LONG_TIMEOUT
        )
        return int(rows[0][0])

    async def read(self, day_slice: DaySlice) -> AsyncIterator[list[ExportedClick]]:
        for part in day_slice.divide(await self.count(day_slice) // _PAGE_SIZE + 1):
            async for batch in self._read_part(part):
                yield batch

    async def count_by_link(self, day_slice: DaySlice) -> list[DayStatistics]:
        clicks = f"FROM clicks WHERE {self._where(day_slice)}"
        of_account = await self._client.query(f"SELECT {_COUNTS} {clicks}", limit=LONG_TIMEOUT)
        of_links = await self._client.query(
            f"SELECT link_id, {_COUNTS} {clicks} GROUP BY link_id ORDER BY link_id", limit=LONG_TIMEOUT
        )
        return [
            DayStatistics(day_slice.day, None, of_account[0], [], []),
            *(DayStatistics(day_slice.day, UUID(bytes=link_id), counts, [], []) for link_id, *counts in of_links),
        ]

    async def read_expired(self, kept_since: int) -> AsyncIterator[list[DayStatistics]]:
        if not self._query.subject:
            return
        account_id = self._query.subject.account_id
        of_account = f"account_id = {id_literal(account_id)}"
        days = await self._client.query(
            f"SELECT DISTINCT day FROM click_counts WHERE {of_account} AND day < {kept_since} ORDER BY day",
            limit=LONG_TIMEOUT,
        )
        for (day,) in days:
            where_day = f"WHERE {of_account} AND day = {day}"
            counts, visitors, values = [
                await self._client.query(query.format(where=where_day), limit=LONG_TIMEOUT)
                for query in (_COUNTS_OF_DAY, _VISITORS_OF_DAY, _VALUES_OF_DAY)
            ]
            yield _to_statistics(day, account_id, counts, visitors, values)

    async def _read_part(self, part: DaySlice) -> AsyncIterator[list[ExportedClick]]:
        after = ""
        while True:
            rows = await self._client.query(
                f"SELECT {CLICK_COLUMNS} FROM clicks WHERE {self._where(part)}{after}"
                f" ORDER BY created_at, id LIMIT {_PAGE_SIZE}",
                limit=LONG_TIMEOUT,
            )
            urls = await self._find_short_urls({row[2] for row in rows})
            for some in batches_of(rows, _BATCH_SIZE):
                if batch := _to_clicks(some, urls):
                    yield batch
            if len(rows) < _PAGE_SIZE:
                return
            last_id, at = rows[-1][0], rows[-1][3]
            after = f" AND (created_at, id) > (fromUnixTimestamp64Micro({at}), unhex('{last_id.hex()}'))"
            part = part._replace(begin=at)

    async def _find_short_urls(self, link_ids: Collection[bytes]) -> dict[bytes, str]:
        """Return the short URL of each link. Those of deleted accounts are missing."""
        link = SHORT_LINKS.c
        async with self._db.read_long() as tx:
            matches = in_values(tx, link.id, [UUID(bytes=link_id) for link_id in link_ids])
            rows = await tx.execute(select(link.id, link.hostname, link.slug).where(matches))
            return {id_.bytes: f"{hostname or self._shared_domain}/{slug}" for id_, hostname, slug in rows}

    def _where(self, part: DaySlice) -> str:
        kind = "" if self._query.kind is None else f" AND kind = '{self._query.kind}'"
        return where(self._query.subject, [part]) + kind


def _to_clicks(rows: Collection[ResultRow], urls: dict[bytes, str]) -> list[ExportedClick]:
    return [ExportedClick(read_click(row), urls[row[2]]) for row in rows if row[2] in urls]


def _to_statistics(
    day: int, account_id: UUID, counts: Sequence[ResultRow], visitors: Sequence[ResultRow], values: Sequence[ResultRow]
) -> list[DayStatistics]:
    seen = {(subject, quarter): tuple(row) for subject, quarter, *row in visitors}
    quarters: dict[bytes, list[ResultRow]] = {}
    for subject, *row in counts:
        quarters.setdefault(subject, []).append(row)
    found: dict[bytes, DayStatistics] = {}
    for subject, rows in quarters.items():
        link_id = None if subject == account_id.bytes else UUID(bytes=subject)
        whole_day = _whole_day(rows)
        _, clicks, crawlers, previews, prefetches, scans, *_ = whole_day
        totals = clicks, seen.get((subject, WHOLE_DAY), _NO_VISITORS)[0], scans, crawlers, previews, prefetches
        shown = [_with_visitors(row, seen.get((subject, row[0]), _NO_VISITORS)) for row in (whole_day, *rows)]
        found[subject] = DayStatistics(day, link_id, totals, shown, [])
    for subject, *value in values:
        found[subject].values.append((value[0], value[1], value[2]))
    return list(found.values())


def _whole_day(quarters: Sequence[ResultRow]) -> ResultRow:
    _, *counts, firsts, lasts = zip(*quarters, strict=True)
    first, last = min(filter(None, firsts), default=None), max(filter(None, lasts), default=None)
    return WHOLE_DAY, *map(sum, counts), first, last


def _with_visitors(quarter: ResultRow, visitors: Sequence[int]) -> ResultRow:
    *counts, first, last = quarter
    return *counts, *visitors, *(at and from_microseconds(at) for at in (first, last))
