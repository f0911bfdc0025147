"""R27: the guarantees of `read()` and `write()`, on live connections."""

import asyncio
import contextlib

import psycopg
import pytest
from sqlalchemy import text

from waypost.database import Database
from waypost.database.sqlite import SQLITE_PRAGMAS, WRITER_CACHE
from waypost.kit.errors import Unavailable


async def increment(db: Database, times: int) -> None:
    for _ in range(times):
        async with db.write() as tx:
            lock = "" if db.dialect == "sqlite" else " FOR UPDATE"
            seen = (await tx.execute(text(f"SELECT n FROM counter{lock}"))).scalar_one()
            await asyncio.sleep(0)
            await tx.execute(text("UPDATE counter SET n = :n"), {"n": seen + 1})


async def make_counter(db: Database) -> None:
    async with db.write() as tx:
        await tx.execute(text("CREATE TABLE counter (n INTEGER)"))
        await tx.execute(text("INSERT INTO counter VALUES (0)"))


async def test_no_update_is_lost(db: Database, database_url: str) -> None:
    await make_counter(db)
    other = Database(database_url)  # like another process: it shares no lock with the first
    await asyncio.gather(*(increment(each, 10) for each in [db, other] * 10))
    async with db.read() as tx:
        assert (await tx.execute(text("SELECT n FROM counter"))).scalar_one() == 200
    await other.close()


async def test_a_failed_write_is_rolled_back(db: Database) -> None:
    await make_counter(db)
    with pytest.raises(ZeroDivisionError):
        async with db.write() as tx:
            await tx.execute(text("UPDATE counter SET n = 7"))
            raise ZeroDivisionError
    async with db.read() as tx:
        assert (await tx.execute(text("SELECT n FROM counter"))).scalar_one() == 0


async def test_a_failed_block_within_another_leaves_nothing_of_either(db: Database) -> None:
    await make_counter(db)
    async with db.write() as tx:
        with contextlib.suppress(ZeroDivisionError):
            async with tx.begin_nested():
                await tx.execute(text("UPDATE counter SET n = 1"))
                with contextlib.suppress(KeyError):
                    async with tx.begin_nested():
                        await tx.execute(text("UPDATE counter SET n = 2"))
                        raise KeyError
                assert await tx.scalar(text("SELECT n FROM counter")) == 1
                raise ZeroDivisionError
        assert await tx.scalar(text("SELECT n FROM counter")) == 0


async def test_a_write_that_is_cancelled_twice_is_rolled_back(db: Database, database_url: str) -> None:
    await make_counter(db)
    counting = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT max(i) FROM n"

    async def write() -> None:
        async with db.write() as tx:
            await tx.execute(text("UPDATE counter SET n = 7"))
            begun.set()
            await tx.execute(text(counting))

    begun, other = asyncio.Event(), Database(database_url)
    task = asyncio.create_task(write())
    await begun.wait()
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for each in (other, db):
        await increment(each, 1)
    async with db.read() as tx:
        assert await tx.scalar(text("SELECT n FROM counter")) == 2
    await other.close()


async def test_a_reader_keeps_its_snapshot_and_cannot_write(db: Database) -> None:
    await make_counter(db)
    async with db.read() as tx:
        first = (await tx.execute(text("SELECT n FROM counter"))).scalar_one()
        await increment(db, 1)
        assert (await tx.execute(text("SELECT n FROM counter"))).scalar_one() == first
    with pytest.raises(Unavailable):
        async with db.read() as tx:
            await tx.execute(text("UPDATE counter SET n = 9"))


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_frequent_statements_are_prepared_once(database_url: str) -> None:
    db, asked = Database(database_url, readers=1), text("SELECT count(*) FROM pg_prepared_statements")
    held = []
    for _ in range(10):
        async with db.read() as tx:
            held.append(await tx.scalar(asked))
    assert held[0] == 0
    assert held[-1] == 1
    await db.close()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize("reads_single_rows", [False, True])
async def test_a_changed_column_type_fails_once(database_url: str, reads_single_rows: bool) -> None:
    db, migrating, asked = Database(database_url, readers=1), Database(database_url), text("SELECT n FROM counter")
    await make_counter(migrating)

    async def read() -> None:
        async with db.point_read() if reads_single_rows else db.read() as tx:
            assert await tx.scalar(asked) == 0

    for changed in ("bigint", "numeric", "integer"):
        for _ in range(10):
            await read()
        async with migrating.write() as tx:
            await tx.execute(text(f"ALTER TABLE counter ALTER n TYPE {changed}"))
        with pytest.raises(Unavailable):
            await read()
    for each in (db, migrating):
        await each.close()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_pragmas_hold_on_live_connections(db: Database) -> None:
    expected = SQLITE_PRAGMAS | {"synchronous": 2, "foreign_keys": 1, "temp_store": 2}
    for begin in (db.read, db.write, db.point_read):
        own = {"cache_size": WRITER_CACHE} if begin == db.write else {}
        async with begin() as tx:
            for name, value in (expected | own).items():
                assert (await tx.execute(text(f"PRAGMA {name}"))).scalar_one() == value, name


async def test_a_point_read_sees_committed_rows(db: Database) -> None:
    await make_counter(db)
    for n in range(3):
        async with db.point_read() as tx:
            assert (await tx.execute(text("SELECT n FROM counter"))).scalar_one() == n
        await increment(db, 1)


async def test_an_unreachable_server_raises_unavailable() -> None:
    db = Database("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(Unavailable):
        async with db.read():
            pass
    await db.close()


async def test_an_outage_outside_sqlalchemy_raises_unavailable(db: Database) -> None:
    """COPY uses the driver directly."""
    with pytest.raises(Unavailable):
        async with db.write():
            raise psycopg.OperationalError("the connection is lost")


async def test_connections_notice_a_network_that_drops_packets(db: Database) -> None:
    if db.dialect == "sqlite":
        pytest.skip("SQLite needs no network")
    async with db.read() as tx:
        options = tx.connection.driver_connection.info.get_parameters()
    assert (options["tcp_user_timeout"], options["keepalives_idle"]) == ("2000", "2")
