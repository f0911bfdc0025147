"""R30: a read that takes too long is interrupted, and its connection serves the next one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest
from sqlalchemy import text

from waypost.database import Database, Tx
from waypost.kit.errors import Unavailable
from waypost.kit.ids import new_id

LIMIT = 0.3  # seconds
ENDLESS = {
    "sqlite": "WITH RECURSIVE endless(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM endless) SELECT sum(n) FROM endless",
    "postgresql": "SELECT pg_sleep(3600)",
}
LONGER_THAN_THE_LIMIT = {
    "sqlite": "WITH RECURSIVE some(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM some WHERE n < 2000000)"
    " SELECT max(n) FROM some",
    "postgresql": "SELECT 2000000 FROM pg_sleep(0.5)",
}


@pytest.fixture
async def limited(database_url: str) -> AsyncIterator[Database]:
    """One reader: the next statement would meet any remains of a slow one."""
    database = Database(database_url, readers=1, read_timeout=LIMIT)
    yield database
    await database.close()


async def run(db: Database, begun: AbstractAsyncContextManager[Tx], statements: dict[str, str]) -> object:
    async with begun as tx:
        return await tx.scalar(text(statements[db.dialect]))


async def test_a_slow_read_is_interrupted_and_the_next_one_served(limited: Database) -> None:
    for _ in range(2):
        with pytest.raises(Unavailable, match="took too long"):
            await run(limited, limited.read(), ENDLESS)
        async with limited.read() as tx:
            assert await tx.scalar(text("SELECT 1")) == 1


async def test_the_limit_applies_to_each_statement(limited: Database) -> None:
    async with limited.read() as tx:
        for _ in range(4):
            assert await tx.scalar(text("SELECT 1")) == 1
            await asyncio.sleep(LIMIT / 2)


async def test_other_reads_run_during_a_slow_one(database_url: str) -> None:
    db = Database(database_url, readers=4, read_timeout=60)
    slow_account = new_id()
    slow = [asyncio.create_task(run(db, db.read_for(slow_account), ENDLESS)) for _ in range(20)]
    for _ in range(3):
        async with db.read_for(new_id()) as tx:
            assert await tx.scalar(text("SELECT 1")) == 1
    assert not any(task.done() for task in slow)
    for task in slow:
        task.cancel()
    await asyncio.gather(*slow, return_exceptions=True)
    await db.close()


@pytest.mark.parametrize("limit", [3600, None])
async def test_a_cancelled_read_is_interrupted(database_url: str, limit: float | None) -> None:
    db = Database(database_url, readers=1, read_timeout=limit)
    slow = asyncio.create_task(run(db, db.read(), ENDLESS))
    await asyncio.sleep(0.05)
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    async with db.read() as tx:
        assert await tx.scalar(text("SELECT 1")) == 1
    await db.close()


async def test_a_read_cancelled_before_its_start_is_interrupted(database_url: str) -> None:
    """An interrupt before the thread begins the statement has no effect, so that one interrupt is not enough."""
    db = Database(database_url, readers=1, read_timeout=3600)
    for turns in range(40):
        slow = asyncio.create_task(run(db, db.read(), ENDLESS))
        for _ in range(turns):
            await asyncio.sleep(0)
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
    async with db.read() as tx:
        assert await tx.scalar(text("SELECT 1")) == 1
    await db.close()


async def test_exports_writes_and_background_work_have_no_limit(limited: Database, db: Database) -> None:
    for each, begun in ((limited, limited.read_long()), (limited, limited.write()), (db, db.read())):
        assert await run(each, begun, LONGER_THAN_THE_LIMIT) == 2_000_000
