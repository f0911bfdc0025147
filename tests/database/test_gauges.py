"""The use of database connections, for /metrics."""

import asyncio

from waypost.database import Database


def gauges(db: Database) -> dict[str, float]:
    return {
        f"{gauge.name.removeprefix('waypost_database_')} {gauge.labels['pool']}": gauge.value for gauge in db.gauges()
    }


async def test_counts_connections_in_use_and_transactions_that_wait(db: Database) -> None:
    release = asyncio.Event()

    async def hold() -> None:
        async with db.read():
            await release.wait()

    size = int(gauges(db)["connections_max read"])
    before = gauges(db)
    holding = [asyncio.create_task(hold()) for _ in range(size + 3)]
    while gauges(db)["waiting read"] < 3:
        await asyncio.sleep(0)
    assert gauges(db)["connections_in_use read"] == size
    release.set()
    await asyncio.gather(*holding)
    assert gauges(db) == before
    assert before["waiting read"] == before["connections_in_use read"] == 0


async def test_a_writer_that_waits_for_the_lock_is_counted(db: Database) -> None:
    async def write() -> None:
        async with db.write():
            pass

    pool = "write" if db.dialect == "sqlite" else "read"  # of a worker, which has one pool on PostgreSQL
    async with db.write():
        assert gauges(db)[f"connections_in_use {pool}"] == 1
        if db.dialect == "sqlite":
            waiting = asyncio.create_task(write())
            while not gauges(db)["waiting write"]:
                await asyncio.sleep(0)
    if db.dialect == "sqlite":
        await waiting
    assert gauges(db)[f"waiting {pool}"] == 0


async def test_web_processes_have_a_pool_for_each_purpose(database_url: str) -> None:
    db = Database(database_url, read_timeout=2)
    pools = {name.partition(" ")[2] for name in gauges(db)}
    assert pools == ({"read", "write", "export"} if db.dialect == "sqlite" else {"read", "write"})
    await db.close()
