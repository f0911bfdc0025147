"""Reads the clicks of an export from the service's database, in short transactions."""

from collections.abc import AsyncIterator
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, func, literal, select, tuple_

from waypost.auth import select_account_ids
from waypost.database import Database, Id, Instant
from waypost.kit.clock import from_microseconds, microseconds
from waypost.resources.clicks.click_store import ExportedClick, ExportQuery
from waypost.resources.clicks.days import DaySlice, find_days, within
from waypost.resources.clicks.model import clicks
from waypost.resources.clicks.store import COLUMNS, read_click
from waypost.resources.links import SHORT_LINKS

_BATCH_SIZE = 5_000
_LOWEST_ID = UUID(int=0)


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
            select(*COLUMNS, func.coalesce(link.hostname, self._shared_domain) + "/" + link.slug)
            .join(SHORT_LINKS, link.id == clicks.c.link_id)
            .where(
                *self._conditions(part._replace(begin=microseconds(after[0]))),
                tuple_(*order) > tuple_(literal(after[0], Instant), literal(after[1], Id)),
            )
            .order_by(*order)
            .limit(_BATCH_SIZE)
        )
        async with self._db.read_long() as tx:
            return [ExportedClick(read_click(row), row[-1]) for row in await tx.execute(statement)]

    def _conditions(self, part: DaySlice) -> list[ColumnElement[bool]]:
        # naming every account lets the index find the part in each; otherwise all of the day would be read
        subject, kind = self._query.subject, self._query.kind
        owner = subject.clicks if subject else clicks.c.account_id.in_(select_account_ids())
        conditions = [owner, *within(part)]
        return conditions if kind is None else [*conditions, clicks.c.kind == kind]
