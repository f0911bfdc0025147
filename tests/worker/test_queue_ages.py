"""How long the oldest due item of each queue has been waiting."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from people import START, FakeClock
from sqlalchemy import BigInteger, Boolean, Integer, SmallInteger, Table, insert

from waypost.database import Ciphertext, Database, Encrypted, Id, Instant, Json
from waypost.kit.errors import Unavailable
from waypost.kit.ids import new_id
from waypost.resources.domains.certificates import queue as certificates_queue
from waypost.resources.domains.model import certificates
from waypost.resources.webhooks import queue as webhooks_queue
from waypost.resources.webhooks.model import webhook_deliveries, webhooks
from waypost.worker.jobs import SHORT, JobRunner, jobs
from waypost.worker.queue_ages import QueueAges

_VALUES: dict[type, Callable[[], Any]] = {
    Id: new_id,
    Instant: lambda: START,
    Json: dict,
    Encrypted: lambda: Ciphertext(b"secret"),
    Boolean: lambda: False,
    **dict.fromkeys((BigInteger, Integer, SmallInteger), lambda: 1),
}


async def add(db: Database, table: Table, **values: Any) -> UUID:
    """A row with any values in the columns that need one."""
    needed = [
        column
        for column in table.c
        if not column.nullable and column.name not in values and column.server_default is None
    ]
    row = {column.name: _VALUES.get(type(column.type), lambda: new_id().hex)() for column in needed} | values
    async with db.write() as tx:
        await tx.execute(insert(table), row)
    return row.get("id", UUID(int=0))


def before(minutes: int) -> datetime:
    return START - timedelta(minutes=minutes)


async def oldest(db: Database, find: Callable[..., Awaitable[datetime | None]]) -> datetime | None:
    async with db.read() as tx:
        return await find(tx, START)


async def oldest_job(tx: Any, now: datetime) -> datetime | None:
    return await JobRunner(SHORT, {}, clock=lambda: now).find_oldest_due(tx)


@pytest.mark.parametrize(
    ("table", "due", "lease", "find"),
    [
        (jobs, "run_at", "lease_until", oldest_job),
        (certificates, "due_at", "leased_until", certificates_queue.find_oldest_due),
    ],
)
async def test_the_oldest_due_item_without_a_lease(
    db: Database, table: Table, due: str, lease: str, find: Callable[..., Awaitable[datetime | None]]
) -> None:
    await add(db, table, **{due: before(-5)})
    await add(db, table, **{due: before(9), lease: before(-1)})
    assert await oldest(db, find) is None
    for minutes in (2, 3, 1):
        await add(db, table, **{due: before(minutes)})
    assert await oldest(db, find) == before(3)


async def test_the_oldest_due_delivery_of_all_webhooks(db: Database) -> None:
    find = webhooks_queue.find_oldest_due
    assert await oldest(db, find) is None
    first, second = [await add(db, webhooks) for _ in range(2)]
    for webhook, minutes, status in ((first, -5, "pending"), (first, 9, "delivered")):
        await add(db, webhook_deliveries, webhook_id=webhook, next_attempt_at=before(minutes), status=status)
    assert await oldest(db, find) is None
    for webhook, minutes in ((first, 2), (second, 3), (second, 1)):
        await add(db, webhook_deliveries, webhook_id=webhook, next_attempt_at=before(minutes), status="pending")
    assert await oldest(db, find) == before(3)


class Queue(SimpleNamespace):
    async def find_oldest_due(self, _tx: Any) -> datetime | None:
        return self.since


async def test_shows_an_age_for_each_queue(db: Database) -> None:
    clock, queue = FakeClock(), Queue(name="domain checks", since=before(1))
    ages = QueueAges(db, [queue, Queue(name="jobs", since=None)], clock=clock)
    assert ages.gauges() == []
    await ages.step()
    assert {gauge.labels["queue"]: gauge.value for gauge in ages.gauges()} == {"domain_checks": 60, "jobs": 0}


async def test_shows_no_old_ages_while_the_database_is_unavailable(db: Database) -> None:
    queue = Queue(name="jobs", since=None)
    ages = QueueAges(db, [queue], clock=FakeClock())
    await ages.step()

    async def fail(_tx: Any) -> None:
        raise Unavailable

    queue.find_oldest_due = fail
    with pytest.raises(Unavailable):
        await ages.step()
    assert ages.gauges() == []
