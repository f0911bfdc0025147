"""Reads the clicks of an export from ClickHouse. Hostnames and slugs of their links are in PostgreSQL."""
# ruff: noqa: S608  # these statements consist of constants of this package and of numbers

from collections.abc import AsyncIterator, Collection
from uuid import UUID

from sqlalchemy import select

from waypost.database import Database
from waypost.resources.clicks.click_store import ExportedClick, ExportQuery
from waypost.resources.clicks.clickhouse.client import LONG_TIMEOUT, ClickHouse, Row
from waypost.resources.clicks.clickhouse.reader import CLICK_COLUMNS, read_click, where
from waypost.resources.clicks.days import DaySlice, in_values
from waypost.resources.links import SHORT_LINKS

_PAGE_SIZE = 50_000  # each query looks through the times of the whole day
_BATCH_SIZE = 5_000  # clicks that are built without letting others run


class ClickHouseExporter:
    def __init__(self, client: ClickHouse, db: Database, query: ExportQuery, shared_domain: str) -> None:
        self._client = client
        self._db = db
        self._query = query
        self._shared_domain = shared_domain

    async def find_days(self) -> list[int]:
        subject = self._query.subject
        condition = f"account_id = unhex('{subject.account_id.hex}')" if subject else "true"
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

    async def _read_part(self, part: DaySlice) -> AsyncIterator[list[ExportedClick]]:
        after = ""
        while True:
            rows = await self._client.query(
                f"SELECT {CLICK_COLUMNS} FROM clicks WHERE {self._where(part)}{after}"
                f" ORDER BY created_at, id LIMIT {_PAGE_SIZE}",
                limit=LONG_TIMEOUT,
            )
            urls = await self._find_short_urls({row[2] for row in rows})
            for start in range(0, len(rows), _BATCH_SIZE):
                if batch := _to_clicks(rows[start : start + _BATCH_SIZE], urls):
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


def _to_clicks(rows: Collection[Row], urls: dict[bytes, str]) -> list[ExportedClick]:
    return [ExportedClick(read_click(row), urls[row[2]]) for row in rows if row[2] in urls]
