"""Deletes the clicks of one account, with their statistics, in short transactions."""

from collections.abc import AsyncGenerator
from uuid import UUID

from sqlalchemy import delete, select

from waypost.database import Database, Tx
from waypost.resources.clicks.days import find_days
from waypost.resources.clicks.model import click_dimensions, click_totals, clicks, visitor_days
from waypost.resources.clicks.stats import store as stats_store


async def delete_all_for(db: Database, account_id: UUID, *, at_once: int) -> AsyncGenerator[None, None]:
    """Yields after each transaction."""
    async with db.read() as tx:
        days = await find_days(tx, clicks)
    for day in days:
        while await _has_clicks(db, account_id, day):
            async with db.write() as tx:
                await stats_store.lock(tx)
                await _delete_some(tx, account_id, day, at_once)
            yield


async def _has_clicks(db: Database, account_id: UUID, day: int) -> bool:
    """Reads without a write lock: on most days there is nothing to delete."""
    one = select(clicks.c.id).where(clicks.c.day == day, clicks.c.account_id == account_id).limit(1)
    async with db.read() as tx:
        return (await tx.execute(one)).first() is not None


async def _delete_some(tx: Tx, account_id: UUID, day: int, at_once: int) -> None:
    """With the statistics of their links and the records of their visitors on this day."""
    some = select(clicks.c.id, clicks.c.link_id, clicks.c.visitor_id)
    some = some.where(clicks.c.day == day, clicks.c.account_id == account_id).limit(at_once)
    found = (await tx.execute(some)).all()
    subjects = {account_id, *(each.link_id for each in found)}
    visitors = {each.visitor_id for each in found}
    for table in (click_totals, click_dimensions):
        await tx.execute(delete(table).where(table.c.day == day, table.c.subject_id.in_(subjects)))
    seen = visitor_days.c.visitor_id.in_(visitors), visitor_days.c.subject_id.in_(subjects)
    await tx.execute(delete(visitor_days).where(visitor_days.c.day == day, *seen))
    await tx.execute(delete(clicks).where(clicks.c.id.in_([each.id for each in found])))
