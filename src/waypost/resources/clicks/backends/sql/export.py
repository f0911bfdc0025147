"""Reads the clicks of an export from the service's database, in short transactions, and adds its old statistics."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, func, literal, select, tuple_

from waypost.accounts import select_account_ids
from waypost.database import Database, Id, Instant, Tx, bulk, read_in_batches
from waypost.kit.clock import DAY, EPOCH, from_microseconds, microseconds, parse_timestamp
from waypost.resources import links, qrcodes
from waypost.resources.clicks.backends.sql import top_values, write
from waypost.resources.clicks.backends.sql.write import RAW_COLUMNS, read_raw_click
from waypost.resources.clicks.days import DaySlice, find_days, find_kept_since, in_values, raise_kept_since, within
from waypost.resources.clicks.model import (
    CRAWLER,
    DIMENSIONS,
    HUMAN,
    PREFETCH,
    PREVIEW,
    QUARTER_COLUMNS,
    WHOLE_DAY,
    click_dimensions,
    click_totals,
    clicks,
)
from waypost.resources.clicks.store import DayStatistics, ExportedClick, ExportQuery
from waypost.resources.links import SHORT_LINKS

_BATCH_SIZE = 5_000
_LINKS_AT_ONCE = 50  # each may have hundreds of days with dozens of rows
_LOWEST_ID = UUID(int=0)
_COUNTS = (
    func.count().filter(clicks.c.kind == HUMAN),
    func.count(clicks.c.visitor_id.distinct()).filter(clicks.c.kind == HUMAN),
    func.count().filter(clicks.c.kind == HUMAN, clicks.c.is_scan),
    *(func.count().filter(clicks.c.kind == kind) for kind in (CRAWLER, PREVIEW, PREFETCH)),
)
"""The totals of `DayStatistics`."""


class SqlExporter:
    def __init__(self, db: Database, query: ExportQuery, shared_domain: str) -> None:
        self._db = db
        self._query = query
        self._shared_domain = shared_domain

    async def find_days(self) -> list[int]:
        async with self._db.read_long() as tx:
            return await find_days(tx, clicks)

    async def count(self, day_slice: DaySlice) -> int:
        async with self._db.read_long() as tx:
            return await tx.scalar(select(func.count()).select_from(clicks).where(*self._conditions(day_slice))) or 0

    async def read(self, day_slice: DaySlice) -> AsyncIterator[list[ExportedClick]]:
        for part in await self._divide(day_slice):
            after = part.time_range.start, _LOWEST_ID
            while True:
                batch = await self._read_batch(part, after)
                if batch:
                    yield batch
                    after = from_microseconds(batch[-1].click.at), UUID(bytes=batch[-1].click.id)
                if len(batch) < _BATCH_SIZE:
                    break

    async def count_by_link(self, day_slice: DaySlice) -> list[DayStatistics]:
        conditions = self._conditions(day_slice)
        by_link = select(clicks.c.link_id, *_COUNTS).where(*conditions).group_by(clicks.c.link_id)
        async with self._db.read_long() as tx:
            of_account = (await tx.execute(select(*_COUNTS).where(*conditions))).one()
            rows = await tx.execute(by_link.order_by(clicks.c.link_id))
            of_links = [DayStatistics(day_slice.day, link_id, counts, [], []) for link_id, *counts in rows]
        return [DayStatistics(day_slice.day, None, tuple(of_account), [], []), *of_links]

    async def read_expired(self, kept_since: int) -> AsyncIterator[list[DayStatistics]]:
        async with self._db.read_long() as tx:
            days = [day for day in await find_days(tx, click_totals) if day < kept_since]
        if not days or not self._query.subject:
            return
        account_id = self._query.subject.account_id
        yield await self._read_days(days, [account_id], account_id)
        link = SHORT_LINKS.c
        links_of_account = select(link.id).where(link.account_id == account_id)
        async for rows in read_in_batches(self._db.read_long, links_of_account, link.id, _LINKS_AT_ONCE):
            yield await self._read_days(days, [row.id for row in rows], account_id)

    async def _read_days(self, days: Sequence[int], subjects: Sequence[UUID], account_id: UUID) -> list[DayStatistics]:
        """Return the statistics of these links, or of the account, with quarters of an hour and values."""
        async with self._db.read_long() as tx:
            quarters, values = [
                await tx.execute(
                    select(table)
                    .where(in_values(tx, table.c.day, days), table.c.subject_id.in_(subjects))
                    .order_by(*table.primary_key.columns)
                )
                for table in (click_totals, click_dimensions)
            ]
        found: dict[tuple[int, UUID], DayStatistics] = {}
        for row in quarters:
            if row.quarter == WHOLE_DAY:
                totals = row.clicks, row.visitors, row.scans, row.crawlers, row.previews, row.prefetches
                link_id = None if row.subject_id == account_id else row.subject_id
                found[row.day, row.subject_id] = DayStatistics(row.day, link_id, totals, [], [])
            found[row.day, row.subject_id].quarters.append(row[2:])
        for day, subject_id, *value in values:
            found[day, subject_id].values.append(tuple(value))
        return list(found.values())

    async def _divide(self, day: DaySlice) -> list[DaySlice]:
        """Return parts with few clicks. Those of all accounts must be sorted; an index has a subject's in order."""
        if self._query.subject:
            return [day]
        async with self._db.read_long() as tx:
            count = await tx.scalar(select(func.count()).select_from(clicks).where(clicks.c.day == day.day)) or 0
        return day.divide(count // _BATCH_SIZE + 1)

    async def _read_batch(self, part: DaySlice, after: tuple[datetime, UUID]) -> list[ExportedClick]:
        link = SHORT_LINKS.c
        order = clicks.c.created_at, clicks.c.id
        statement = (
            select(*RAW_COLUMNS, func.coalesce(link.hostname, self._shared_domain) + "/" + link.slug)
            .join(SHORT_LINKS, link.id == clicks.c.link_id)
            .where(
                *self._conditions(part._replace(begin=microseconds(after[0]))),
                tuple_(*order) > tuple_(literal(after[0], Instant), literal(after[1], Id)),
            )
            .order_by(*order)
            .limit(_BATCH_SIZE)
        )
        async with self._db.read_long() as tx:
            return [ExportedClick(read_raw_click(row), row[-1]) for row in await tx.execute(statement)]

    def _conditions(self, part: DaySlice) -> list[ColumnElement[bool]]:
        # naming every account lets the index find the part in each; otherwise all of the day would be read
        subject, kind = self._query.subject, self._query.kind
        owner = subject.clicks if subject else clicks.c.account_id.in_(select_account_ids())
        conditions = [owner, *within(part)]
        return conditions if kind is None else [*conditions, clicks.c.kind == kind]


_TIMES = ("first_at", "last_at")
_QUARTERS = range(WHOLE_DAY, 96)
_MAX_COUNT = 1 << 31


class OldDay(NamedTuple):
    day: int
    link_id: UUID | None
    """None: of the account."""
    quarters: list[tuple[Any, ...]]
    values: list[tuple[int, str, int]]


def read_old_day(row: Mapping[str, Any]) -> OldDay | None:
    """Return None for a row that cannot be statistics."""
    try:
        link_id = None if row["link_id"] is None else UUID(row["link_id"])
        day = (date.fromisoformat(row["date"]) - EPOCH.date()).days
        quarters = [tuple(_quarter(quarter)) for quarter in row["quarters"]]
        values = [
            (DIMENSIONS[dimension], _text(value), _count(count))
            for dimension, counts in row["values"].items()
            for value, count in counts.items()
        ]
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return OldDay(day, link_id, quarters, values)


async def begin_old_days(tx: Tx, kept_since: int) -> bool:
    """Let the days before `kept_since` have statistics without clicks. Return False if clicks of them are kept here."""
    await write.lock(tx)
    if kept_since <= await find_kept_since(tx):
        return True
    if (await tx.execute(select(clicks.c.id).where(clicks.c.day < kept_since).limit(1))).first():
        return False
    await raise_kept_since(tx, kept_since)
    return True


async def add_old_days(tx: Tx, account_id: UUID, days: Sequence[OldDay]) -> int:
    """Add the statistics of days that have none of this subject yet. Return the number of days of links added."""
    await write.lock(tx)
    stored = await bulk.find(
        tx, click_totals, [(each.day, (each.link_id or account_id).bytes, WHOLE_DAY) for each in days]
    )
    known = {(row[0], row[1]) for row in stored}
    new = {
        (each.day, (each.link_id or account_id).bytes): each
        for each in days
        if (each.day, (each.link_id or account_id).bytes) not in known
    }
    totals = [(*key, *quarter) for key, each in sorted(new.items()) for quarter in each.quarters]
    await bulk.insert(tx, click_totals, totals, on_conflict="ON CONFLICT DO NOTHING")
    values = [(*key, *value) for key, each in sorted(new.items()) for value in each.values]
    await bulk.insert(tx, click_dimensions, values, on_conflict="ON CONFLICT DO NOTHING")
    of_links = [each for each in new.values() if each.link_id]
    await links.add_clicks(
        tx, _sums(of_links, account_id, "clicks"), last_at=max((each.day + 1 for each in of_links), default=0) * DAY
    )
    await qrcodes.add_scans(tx, {link: count for link, _, count in _sums(of_links, account_id, "scans") if count})
    await top_values.clear_cache_of(tx, account_id)
    return len(of_links)


def _sums(days: Sequence[OldDay], account_id: UUID, name: str) -> list[tuple[bytes, bytes, int]]:
    sums: dict[bytes, int] = {}
    index = QUARTER_COLUMNS.index(name)
    for each in days:
        if each.link_id:
            count = sum(row[index] for row in each.quarters if row[0] == WHOLE_DAY)
            sums[each.link_id.bytes] = sums.get(each.link_id.bytes, 0) + count
    return [(link, account_id.bytes, count) for link, count in sums.items()]


def _quarter(row: Mapping[str, Any]) -> Iterator[int | None]:
    """Yield the values of `click_totals` after day and subject."""
    for name in QUARTER_COLUMNS:
        value = row[name]
        if name in _TIMES:
            yield None if value is None else microseconds(parse_timestamp(value))
        elif name == "quarter":
            yield _QUARTERS[_QUARTERS.index(value)]
        else:
            yield _count(value)


def _count(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < _MAX_COUNT:
        raise ValueError(value)
    return value


def _text(value: str) -> str:
    if "\0" in value:
        raise ValueError(value)
    return value
