"""Deletes clicks that are older than the retention period, whose statistics stay, and those of an account.

Clicks past the period are hidden immediately and deleted in small batches, so nothing else waits for long.
"""

from collections.abc import AsyncGenerator
from uuid import UUID

from sqlalchemy import bindparam, delete, select, tuple_

from waypost.database import Database, Tx
from waypost.kit.clock import EPOCH, Clock
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.days import find_days, find_kept_since, raise_kept_since
from waypost.resources.clicks.model import click_dimensions, click_totals, clicks, visitor_days

_BATCH_SIZE = 2_000  # some 20 ms

_EXPIRED_KEYS = {
    table: select(*table.primary_key)
    .where(table.c.day < bindparam("kept_since"))
    .order_by(table.c.day)
    .limit(bindparam("limit"))
    for table in (clicks, visitor_days)
}
_DELETE_STATEMENTS = [
    delete(table).where(tuple_(*table.primary_key).in_(keys)) for table, keys in _EXPIRED_KEYS.items()
]
_DELETE_VISIT = delete(visitor_days).where(  # one: of lists of visitors and links SQLite looks up each combination
    *(column == bindparam(column.name, type_=column.type) for column in visitor_days.primary_key)
)


class Retention:
    """Runs hourly. `days`: how many full days to keep besides today. None only finishes a deletion in progress."""

    def __init__(self, db: Database, days: int | None, *, clock: Clock) -> None:
        self._db = db
        self._days = days
        self._clock = clock
        self._kept_since: int | None = None  # while rows of earlier days are being deleted
        self._previous: int | None = None  # the boundary by the clock of the last step

    async def step(self) -> bool:
        """Delete one batch of rows. Return False if there is none."""
        if self._kept_since is None:
            self._kept_since = await self._begin()
        if await self._delete(self._kept_since):
            return True
        self._kept_since = None
        return False

    async def _begin(self) -> int:
        """Move the boundary. From now on lists, statistics and rebuilds leave out the rows of earlier days."""
        day, by_clock = self._trusted_boundary(), self._boundary_by_clock()
        if day is not None:
            await self._prepare(day)
            async with self._db.write() as tx:
                await write.lock(tx)  # a rebuild has either written its day, or will see that it must not
                await raise_kept_since(tx, day)
        self._previous = by_clock
        async with self._db.read() as tx:
            return await find_kept_since(tx)

    def _trusted_boundary(self) -> int | None:
        """Return the first day to keep. It moves by at most a day an hour: a wrong clock must not delete clicks."""
        by_clock = self._boundary_by_clock()
        return None if by_clock is None or self._previous is None else min(by_clock, self._previous + 1)

    def _boundary_by_clock(self) -> int | None:
        return None if self._days is None else (self._clock() - EPOCH).days - self._days

    async def _prepare(self, day: int) -> None:
        """Do what must be done before clicks of days before `day` are hidden."""

    async def _delete(self, day: int) -> bool:
        async with self._db.read() as tx:  # usually nothing is expired, and a read needs no write lock
            parameters = {"kept_since": day, "limit": 1}
            if not [1 for query in _EXPIRED_KEYS.values() if (await tx.execute(query, parameters)).first()]:
                return False
        async with self._db.write() as tx:
            await write.lock(tx)  # otherwise writers could deadlock
            for statement in _DELETE_STATEMENTS:
                await tx.execute(statement, {"kept_since": day, "limit": _BATCH_SIZE})
        return True


async def delete_account_data(db: Database, account_id: UUID, *, batch_size: int) -> AsyncGenerator[None, None]:
    """Yields after each transaction."""
    async with db.read() as tx:
        days = await find_days(tx, clicks)
    for day in days:
        while await _has_clicks(db, account_id, day):
            async with db.write() as tx:
                await write.lock(tx)
                await _delete_batch(tx, account_id, day, batch_size)
            yield


async def _has_clicks(db: Database, account_id: UUID, day: int) -> bool:
    """Read without a write lock: on most days there is nothing to delete."""
    query = select(clicks.c.id).where(clicks.c.day == day, clicks.c.account_id == account_id).limit(1)
    async with db.read() as tx:
        return (await tx.execute(query)).first() is not None


async def _delete_batch(tx: Tx, account_id: UUID, day: int, batch_size: int) -> None:
    """Delete clicks with the statistics of their links and the records of their visitors on this day."""
    query = select(clicks.c.id, clicks.c.link_id, clicks.c.visitor_id)
    query = query.where(clicks.c.day == day, clicks.c.account_id == account_id).limit(batch_size)
    rows = (await tx.execute(query)).all()
    subjects = {account_id, *(row.link_id for row in rows)}
    for table in (click_totals, click_dimensions):
        await tx.execute(delete(table).where(table.c.day == day, table.c.subject_id.in_(subjects)))
    of_account = visitor_days.c.day == day, visitor_days.c.subject_id == account_id
    visitors = visitor_days.c.visitor_id.in_({row.visitor_id for row in rows})
    await tx.execute(delete(visitor_days).where(*of_account, visitors))
    if visits := [{"day": day, "visitor_id": row.visitor_id, "subject_id": row.link_id} for row in rows]:
        await tx.execute(_DELETE_VISIT, visits)
    await tx.execute(delete(clicks).where(clicks.c.id.in_([row.id for row in rows])))
