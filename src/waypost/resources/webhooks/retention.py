"""Deletes old deliveries, and cancels pending ones of deleted webhooks, in small batches."""

from datetime import timedelta

from sqlalchemy import bindparam, delete, select

from waypost.database import Database, Id
from waypost.kit.clock import Clock
from waypost.kit.ids import first_id
from waypost.resources.webhooks import queue, store
from waypost.resources.webhooks.model import webhook_deliveries

MAX_LOG_RETENTION = timedelta(days=30)
BATCH_SIZE = 1_000

_deliveries = webhook_deliveries.c
_OLD_IDS = (
    select(_deliveries.id)
    .where(_deliveries.id < bindparam("first_kept", type_=Id), _deliveries.status != "pending")
    .order_by(_deliveries.id)
    .limit(bindparam("limit"))
)
# checks the status of each row again: on PostgreSQL it may have become pending since
_DELETE_STATEMENT = delete(webhook_deliveries).where(_deliveries.id.in_(_OLD_IDS), _deliveries.status != "pending")


async def delete_old_deliveries(
    db: Database, retention: timedelta, *, clock: Clock, batch_size: int = BATCH_SIZE
) -> bool:
    """Delete one batch of finished deliveries. Return False if there is none."""
    first_kept = first_id(clock() - retention)
    async with db.read() as tx:  # usually there is nothing to do, and a read takes no write lock
        if not (await tx.execute(_OLD_IDS, {"first_kept": first_kept, "limit": 1})).first():
            return False
    async with db.write() as tx:
        await queue.lock_deliveries(tx)
        await tx.execute(_DELETE_STATEMENT, {"first_kept": first_kept, "limit": batch_size})
    return True


def log_retention(click_retention_days: int | None) -> timedelta:
    """Return how long the log keeps deliveries: not longer than the clicks that they report."""
    if click_retention_days is None:
        return MAX_LOG_RETENTION
    return min(MAX_LOG_RETENTION, timedelta(days=click_retention_days))


async def cancel_orphaned_deliveries(db: Database) -> bool:
    """Cancel one batch of pending deliveries of a deleted webhook. Return False if there is none.

    The deletion leaves those that are too many for its transaction.
    """
    async with db.read() as tx:
        webhook_id = await queue.find_orphaned_webhook(tx)
    if webhook_id is None:
        return False
    async with db.write() as tx:
        await queue.lock_deliveries(tx)
        await store.cancel_deliveries(tx, webhook_id)
    return True
