"""Removes deliveries in small groups: old ones, pending ones of deleted subscriptions, and all of an account."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from uuid import UUID

from sqlalchemy import bindparam, delete, select

from waypost.database import Database, Id
from waypost.kit.clock import Clock, microseconds
from waypost.resources.webhooks import queue, store
from waypost.resources.webhooks.model import webhook_deliveries, webhooks

KEPT = timedelta(days=30)
AT_ONCE = 1_000  # rows

_D = webhook_deliveries.c
_OLD = (
    select(_D.id)
    .where(_D.id < bindparam("first_kept", type_=Id), _D.status != "pending")
    .order_by(_D.id)
    .limit(bindparam("at_once"))
)
# the status again, for each row: on PostgreSQL one may have become pending meanwhile
_DELETION = delete(webhook_deliveries).where(_D.id.in_(_OLD), _D.status != "pending")


async def delete_old_deliveries(db: Database, kept: timedelta, *, clock: Clock, at_once: int = AT_ONCE) -> bool:
    """Delete one group of finished deliveries. False when there was none."""
    first_kept = UUID(int=microseconds(clock() - kept) // 1_000 << 80)  # the smallest id of that millisecond
    async with db.read() as tx:  # mostly there is nothing to do, and a read takes no write lock
        if not (await tx.execute(_OLD, {"first_kept": first_kept, "at_once": 1})).first():
            return False
    async with db.write() as tx:
        await queue.lock(tx)
        await tx.execute(_DELETION, {"first_kept": first_kept, "at_once": at_once})
    return True


def log_retention(click_retention_days: int | None) -> timedelta:
    """How long the log keeps deliveries: not longer than the clicks that they report."""
    return KEPT if click_retention_days is None else min(KEPT, timedelta(days=click_retention_days))


async def cancel_orphaned_deliveries(db: Database) -> bool:
    """Cancel one group that the deletion of a subscription left, because it was too much for one transaction.

    False when there was none.
    """
    async with db.read() as tx:
        webhook_id = await queue.orphaned(tx)
    if webhook_id is None:
        return False
    async with db.write() as tx:
        await queue.lock(tx)
        await store.cancel(tx, webhook_id)
    return True


async def delete_all_for(db: Database, account_id: UUID, *, at_once: int) -> AsyncGenerator[None, None]:
    """Delete the webhooks of an account and their deliveries, in short transactions. Yields after each."""
    async with db.read() as tx:
        ids = (await tx.execute(select(webhooks.c.id).where(webhooks.c.account_id == account_id))).scalars().all()
    for webhook_id in ids:
        of_webhook = select(webhook_deliveries.c.id).where(webhook_deliveries.c.webhook_id == webhook_id)
        some = webhook_deliveries.c.id.in_(of_webhook.limit(at_once))
        is_more_left = True
        while is_more_left:
            async with db.write() as tx:
                await queue.lock(tx)
                is_more_left = (await tx.execute(delete(webhook_deliveries).where(some))).rowcount >= at_once
                if not is_more_left:
                    await tx.execute(delete(webhooks).where(webhooks.c.id == webhook_id))
            yield
