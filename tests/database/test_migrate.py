"""`migrate` beside other transactions: it waits for their locks, for a limited time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from alembic import command
from database.test_write_lock import OtherProcess
from sqlalchemy import text

from waypost.database import Database, write_lock
from waypost.database.migrations import SchemaLocked, _config, migrate
from waypost.database.schema import newest


@contextmanager
def locked(db: Database) -> Iterator[Callable[[], object]]:
    """Hold a lock that `migrate` needs, until the function is called."""
    if db.dialect == "postgresql":
        with psycopg.connect(db.url) as connection:
            connection.execute("LOCK TABLE alembic_version IN SHARE MODE")
            yield connection.rollback
    else:
        other = OtherProcess(db.path.with_name(f"{db.path.name}-lock"))
        other.lock()
        yield other.release
        other.release()


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_lock, "TIMEOUT", 0.1)


async def test_waits_for_locks(db: Database) -> None:
    with locked(db) as release:
        assert await migrate(db, lock_timeout=0.1, on_wait=release) == (newest(), newest())


async def test_continues_where_it_gave_up(empty_database: Database) -> None:
    """Creating an index waits for transactions that change its table."""
    db = empty_database
    await db.run_sync(lambda connection: command.upgrade(_config(connection=connection), "0072"))
    with psycopg.connect(db.url) as other:
        other.execute("LOCK TABLE links IN ROW EXCLUSIVE MODE")
        with pytest.raises(SchemaLocked, match="Run waypost migrate again"):
            await migrate(db, lock_timeout=0.1, patience=0)
    assert await migrate(db) == ("0072", newest())
    async with db.read() as tx:
        assert await tx.scalar(text("SELECT count(*) FROM pg_index WHERE NOT indisvalid")) == 0


async def test_gives_up_without_a_change(db: Database) -> None:
    with locked(db), pytest.raises(SchemaLocked, match="The schema is not current yet: other transactions held locks"):
        await migrate(db, lock_timeout=0.1, patience=0)
    assert await migrate(db) == (newest(), newest())
