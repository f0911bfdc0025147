"""Deletes the clicks of one account, with their statistics, in short transactions."""

from collections.abc import AsyncGenerator
from uuid import UUID

from sqlalchemy import delete, select

from waypost.database import Database, Tx
from waypost.resources.clicks.backends.sql import sums
from waypost.resources.clicks.days import find_days
from waypost.resources.clicks.model import click_dimensions, click_totals, clicks, visitor_days


async def delete_account_data(db: Database, account_id: UUID, *, batch_size: int) -> AsyncGenerator[None, None]:
    """Yields after each transaction."""
    async with db.read() as tx:
        days = await find_days(tx, clicks)
    for day in days:
        while await _has_clicks(db, account_id, day):
            async with db.write() as tx:
                await sums.lock(tx)
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
    visitors = {row.visitor_id for row in rows}
    for table in (click_totals, click_dimensions):
        await tx.execute(delete(table).where(table.c.day == day, table.c.subject_id.in_(subjects)))
    matches = visitor_days.c.visitor_id.in_(visitors), visitor_days.c.subject_id.in_(subjects)
    await tx.execute(delete(visitor_days).where(visitor_days.c.day == day, *matches))
    await tx.execute(delete(clicks).where(clicks.c.id.in_([row.id for row in rows])))
