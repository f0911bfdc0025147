"""Old entries are deleted in batches, account by account, and a wrong clock deletes few."""

from datetime import timedelta

import pytest
from audit.test_list import ACCOUNT, OTHER
from people import START, FakeClock
from sqlalchemy import select

from waypost import audit
from waypost.audit import Actor, retention
from waypost.audit.model import audit_entries
from waypost.audit.retention import AuditRetention
from waypost.database import Database

DAY = timedelta(days=1)


async def add(db: Database, *ages: timedelta) -> None:
    async with db.write() as tx:
        for account in (ACCOUNT, OTHER):
            for age in ages:
                await audit.record(tx, Actor.system(account), "link.created", START - age)


async def ages(db: Database) -> list[int]:
    async with db.read() as tx:
        return sorted((START - at) // DAY for at in await tx.scalars(select(audit_entries.c.at)))


async def run(step: AuditRetention) -> int:
    """Return the number of steps of one pass."""
    steps = 1
    while await step.step():
        steps += 1
    return steps


async def test_deletes_entries_of_all_accounts_after_the_period(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_BATCH_SIZE", 2)
    await add(db, *(days * DAY for days in (1, 9, 11, 12, 13)))
    one = AuditRetention(db, 10, clock=FakeClock())
    await run(one)
    assert len(await ages(db)) == 10  # the clock is not trusted yet
    assert await run(one) == 5  # two batches of each account, and the end
    assert await ages(db) == [1, 1, 9, 9]
    assert await run(one) == 3


async def test_a_clock_that_jumps_deletes_one_day(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_BATCH_SIZE", 1)  # the first account takes several steps
    await add(db, 9.7 * DAY, 9.2 * DAY, 8.5 * DAY)
    clock = FakeClock()
    one = AuditRetention(db, 10, clock=clock)
    await run(one)
    clock.move(1_000 * DAY)
    await run(one)
    assert await ages(db) == [8, 8]
