"""Moves clicks and statistics from PostgreSQL to ClickHouse, day by day. The rows in PostgreSQL stay.

Every run compares each day first, so an interrupted one is repeated, and one while visits are drained into PostgreSQL
is completed by another one afterwards.
"""
# ruff: noqa: S608  # these statements consist of constants, numbers and ids

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Column, Table, func, select, true, tuple_

from waypost.database import Database, NamedRow
from waypost.kit.clock import EPOCH, Clock, microseconds, now
from waypost.kit.ids import new_id
from waypost.resources import links
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore
from waypost.resources.clicks.backends.clickhouse.client import LONG_TIMEOUT
from waypost.resources.clicks.backends.clickhouse.rebuild import clicks_of_day, correct_day, delete_statistics
from waypost.resources.clicks.backends.sql.rebuild import OnDay
from waypost.resources.clicks.backends.sql.write import COLUMNS, read_click
from waypost.resources.clicks.days import find_days, find_kept_since
from waypost.resources.clicks.model import WHOLE_DAY, Click, click_dimensions, click_totals, clicks

_PAGE_SIZE = 20_000
_POLL_INTERVAL = 0.5  # seconds
_ORDER = (clicks.c.account_id, clicks.c.created_at, clicks.c.id)
_ID, _COUNT = "FixedString(16)", "UInt64"
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "click_counts": {
        "quarter": "UInt8",
        **dict.fromkeys(("clicks", "crawlers", "previews", "prefetches", "scans"), _COUNT),
        **dict.fromkeys(("first_at", "last_at"), "Nullable(DateTime64(6, 'UTC'))"),
    },
    "visitor_counts": {
        "quarter": "Int8",
        **dict.fromkeys(("visitors", "new_in_15", "new_in_30", "new_in_45", "firsts", "lasts"), _COUNT),
    },
    "click_dimensions": {"dimension": "UInt8", "value": "String", "clicks": _COUNT},
}
"""Names and types of what the tables have besides subject, account and day."""

Sums = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class DayCount:
    day: int
    source: int
    """Clicks in PostgreSQL."""
    target: int
    """Clicks in ClickHouse that were moved."""

    def to_json(self) -> dict[str, object]:
        date = (EPOCH + timedelta(days=self.day)).date()
        return {"day": str(date), "postgresql": self.source, "clickhouse": self.target}


class ClickMove:
    def __init__(self, db: Database, store: ClickHouseStore, *, clock: Clock = now) -> None:
        self._db = db
        self._store = store
        self._client = store.client
        self._clock = clock

    async def run(self, on_progress: OnDay | None = None) -> list[DayCount]:
        """Move all days, oldest first. Return those whose counts differ afterwards."""
        await self._wait_for_inserts()
        async with self._db.read() as tx:
            kept_since = await find_kept_since(tx)
            days = sorted({*await find_days(tx, clicks), *await find_days(tx, click_totals)})
        for number, day in enumerate(days):
            if on_progress:
                on_progress(number, len(days))
            if day >= kept_since:
                await self._move_clicks(day)
            else:
                await self._move_statistics(day)
        counts = [await (self._count_clicks(day) if day >= kept_since else self._count_sums(day)) for day in days]
        return [count for count in counts if count.target < count.source]

    async def _wait_for_inserts(self) -> None:
        """Wait for an insertion of a killed run: its rows would be missing now and stored a moment later."""
        query = "SELECT 1 FROM system.processes WHERE startsWith(Settings['insert_deduplication_token'], 'move:')"
        while await self._client.query(query):  # noqa: ASYNC110  # the server reports no event
            await asyncio.sleep(_POLL_INTERVAL)

    async def _move_clicks(self, day: int) -> None:
        count = await self._count_clicks(day)
        if count.source > count.target:
            async for page in self._read_pages(clicks, COLUMNS, _ORDER, day):
                batch = [read_click(row) for row in page]
                if count.target:
                    stored = await self._find_stored(day, batch)
                    batch = [click for click in batch if click.id not in stored]
                if batch:
                    await self._store.insert(batch, f"move:{day}:{batch[0].id.hex()}")
        if not await self._is_counted(day):
            await correct_day(self._db, self._client, day, clock=self._clock)

    async def _find_stored(self, day: int, page: Sequence[Click]) -> set[bytes]:
        """Return the ids of the clicks between the first and the last of the page."""
        first, last = (
            f"(unhex('{click.account_id.hex()}'), fromUnixTimestamp64Micro({click.at}), unhex('{click.id.hex()}'))"
            for click in (page[0], page[-1])
        )
        rows = await self._client.query(
            f"SELECT id FROM clicks WHERE {clicks_of_day(day)} AND account_id >= unhex('{page[0].account_id.hex()}')"
            f" AND account_id <= unhex('{page[-1].account_id.hex()}')"
            f" AND (account_id, created_at, id) >= {first} AND (account_id, created_at, id) <= {last}",
            limit=LONG_TIMEOUT,
        )
        return {id_ for (id_,) in rows}

    async def _is_counted(self, day: int) -> bool:
        """Whether all clicks are in the sums: they are written after the clicks, so a crash may come between."""
        query = (
            f"SELECT (SELECT 2 * count() FROM clicks WHERE {clicks_of_day(day)}),"
            f" (SELECT sum(clicks + crawlers + previews + prefetches) FROM click_counts WHERE day = {day}),"
            f" (SELECT countIf(kind = 'human') FROM clicks WHERE {clicks_of_day(day)}),"
            f" (SELECT sumIf(clicks, dimension = 4) FROM click_dimensions WHERE day = {day})"
        )
        ((visits, counted, human, by_link),) = await self._client.query(query, limit=LONG_TIMEOUT)
        return bool(visits == counted and human == by_link)

    async def _move_statistics(self, day: int) -> None:
        """Move the statistics of a day whose clicks retention has deleted."""
        if _has_all(await self._sums(day), await self._stored_sums(day)):
            return
        await delete_statistics(self._client, day)
        totals = click_totals.c
        async for page in self._read_pages(click_totals, tuple(totals), (totals.subject_id, totals.quarter), day):
            await self._insert("click_counts", [row for row in page if row.quarter != WHOLE_DAY])
            with_clicks = [row for row in page if row.clicks]
            await self._insert("visitor_counts", with_clicks, counted=(_COUNT, [row.clicks for row in with_clicks]))
        dimensions = click_dimensions.c
        order = dimensions.subject_id, dimensions.dimension, dimensions.value
        async for page in self._read_pages(click_dimensions, tuple(dimensions), order, day):
            await self._insert("click_dimensions", page)

    async def _insert(self, table: str, rows: Sequence[NamedRow[Any]], **more: tuple[str, Sequence[Any]]) -> None:
        """`more`: type and values of further columns."""
        if not rows:
            return
        accounts = await self._find_accounts(rows)
        key = {
            "subject_id": (_ID, [row.subject_id.bytes for row in rows]),
            "account_id": (_ID, [accounts[row.subject_id] for row in rows]),
            "day": ("Int32", [row.day for row in rows]),
        }
        columns = {name: (type_, [_value(row, name) for row in rows]) for name, type_ in _COLUMNS[table].items()}
        # a token of its own: without one, rows are dropped if the same were inserted and deleted before
        await self._client.insert(table, key | columns | more, token=f"move:{new_id().hex}")

    async def _find_accounts(self, rows: Iterable[NamedRow[Any]]) -> dict[UUID, bytes]:
        """Return the account of each subject. An account, and a link whose row is gone, is its own."""
        subjects = {row.subject_id for row in rows}
        async with self._db.read() as tx:
            accounts = await links.find_accounts(tx, subjects)
        return {subject: accounts.get(subject, subject).bytes for subject in subjects}

    async def _read_pages(
        self, table: Table, columns: Sequence[Any], order: Sequence[Column[Any]], day: int
    ) -> AsyncIterator[Sequence[NamedRow[Any]]]:
        """Yield the rows in the order of an index that begins with the day."""
        query = select(*columns).where(table.c.day == day).order_by(*order).limit(_PAGE_SIZE)
        after: list[Any] = []
        while True:
            later = tuple_(*order) > tuple_(*after, types=[column.type for column in order]) if after else true()
            async with self._db.read_long() as tx:
                page = (await tx.execute(query.where(later))).all()
            if not page:
                return
            yield page
            after = [getattr(page[-1], column.name) for column in order]

    async def _count_clicks(self, day: int) -> DayCount:
        query = f"SELECT count() FROM clicks WHERE {clicks_of_day(day)} AND startsWith(batch, 'move:')"
        ((target,),) = await self._client.query(query, limit=LONG_TIMEOUT)
        async with self._db.read_long() as tx:
            source = await tx.scalar(select(func.count()).select_from(clicks).where(clicks.c.day == day))
        return DayCount(day, source or 0, target)

    async def _count_sums(self, day: int) -> DayCount:
        source, target = await self._sums(day), await self._stored_sums(day)
        return DayCount(day, sum(source), sum(source) if _has_all(source, target) else sum(target))

    async def _sums(self, day: int) -> Sums:
        """Return sums of visits, of values and of visitors."""
        totals, dimensions = click_totals.c, click_dimensions.c
        of_day = select(
            func.sum(totals.clicks + totals.crawlers + totals.previews + totals.prefetches).filter(
                totals.quarter != WHOLE_DAY
            ),
            func.sum(totals.visitors).filter(totals.quarter == WHOLE_DAY),
        ).where(totals.day == day)
        async with self._db.read_long() as tx:
            visits, visitors = (await tx.execute(of_day)).one()
            values = await tx.scalar(select(func.sum(dimensions.clicks)).where(dimensions.day == day))
        return int(visits or 0), int(values or 0), int(visitors or 0)

    async def _stored_sums(self, day: int) -> Sums:
        query = (
            f"SELECT (SELECT sum(clicks + crawlers + previews + prefetches) FROM click_counts WHERE day = {day}),"
            f" (SELECT sum(clicks) FROM click_dimensions WHERE day = {day}),"
            f" (SELECT sum(visitors) FROM visitor_counts FINAL WHERE day = {day} AND quarter = {WHOLE_DAY})"
        )
        ((visits, values, visitors),) = await self._client.query(query, limit=LONG_TIMEOUT)
        return visits, values, visitors


def _value(row: NamedRow[Any], name: str) -> Any:
    value = getattr(row, name)
    return microseconds(value) if isinstance(value, datetime) else value


def _has_all(source: Sums, target: Sums) -> bool:
    return all(there >= here for here, there in zip(source, target, strict=True))
