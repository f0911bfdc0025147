"""Deliveries leave the log 30 days after their event, unless they are still to be sent."""

import secrets
from datetime import timedelta
from typing import Any
from uuid import UUID

from people import START, FakeClock
from sqlalchemy import select, update

from waypost.database import Database
from waypost.kit.clock import microseconds
from waypost.kit.ids import new_id
from waypost.resources.webhooks import WebhookEvent
from waypost.resources.webhooks.model import webhook_deliveries
from waypost.resources.webhooks.outbox import record_for
from waypost.resources.webhooks.retention import delete_old_deliveries, log_retention

DAY = timedelta(days=1)
MILLISECOND = timedelta(milliseconds=1)
ACCOUNT, WEBHOOK = new_id(), new_id()


async def add(db: Database, *ages: timedelta, status: str = "delivered") -> None:
    """Deliveries of events that old; the event's id begins with its time, as a click's does."""
    async with db.write() as tx:
        for age in ages:
            at = START - age
            source = UUID(int=microseconds(at) // 1_000 << 80 | secrets.randbits(80))
            id_ = await record_for(tx, WebhookEvent("link.clicked", ACCOUNT, source, at, {}), WEBHOOK)
            one = update(webhook_deliveries).where(webhook_deliveries.c.id == id_)
            await tx.execute(one.values(status=status, next_attempt_at=at if status == "pending" else None))


async def ages(db: Database) -> list[timedelta]:
    async with db.read() as tx:
        return sorted(START - at for at in await tx.scalars(select(webhook_deliveries.c.created_at)))


async def groups(db: Database, kept: timedelta = 30 * DAY, **rest: Any) -> int:
    count = 0
    while await delete_old_deliveries(db, kept, clock=FakeClock(), **rest):
        count += 1
    return count


async def test_finished_deliveries_are_deleted_after_30_days(db: Database) -> None:
    for status in ("delivered", "failed", "cancelled"):
        await add(db, 0 * DAY, 29 * DAY, 31 * DAY, 400 * DAY, status=status)
    assert await groups(db) == 1
    assert await ages(db) == [0 * DAY] * 3 + [29 * DAY] * 3


async def test_to_the_millisecond(db: Database) -> None:
    await add(db, 30 * DAY - MILLISECOND, 30 * DAY, 30 * DAY + MILLISECOND)
    await groups(db)
    assert await ages(db) == [30 * DAY - MILLISECOND, 30 * DAY]


async def test_what_is_pending_stays_however_old(db: Database) -> None:
    await add(db, 40 * DAY, 41 * DAY, 42 * DAY, status="pending")
    await add(db, 39 * DAY, 43 * DAY)
    assert await groups(db, batch_size=1) == 2
    assert await ages(db) == [40 * DAY, 41 * DAY, 42 * DAY]


async def test_deletes_in_small_groups(db: Database) -> None:
    await add(db, *(timedelta(days=day) for day in range(31, 41)), 1 * DAY)
    left = []
    while await delete_old_deliveries(db, 30 * DAY, clock=FakeClock(), batch_size=4):
        left.append(len(await ages(db)))
    assert left == [7, 3, 1]


async def test_deliveries_are_kept_no_longer_than_clicks(db: Database) -> None:
    await add(db, 6 * DAY, 8 * DAY, 40 * DAY)
    await groups(db, log_retention(7))
    assert await ages(db) == [6 * DAY]
    assert log_retention(300) == log_retention(None) == 30 * DAY
