"""Explicit transactions on SQLite and PostgreSQL: `read()` sees one snapshot, `write()` is exclusive on SQLite.

There is no autocommit except for single rows, and no ambient session. SQLite's default transactions are not used: they
take the write lock so late that two writers can read the same row, and one update is lost without an error.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Literal
from uuid import UUID

from sqlalchemy import Table, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url

from waypost.database.async_engine import AsyncConnection, AsyncEngine
from waypost.database.connections import checkpoint, engine_gauges, in_thread_engine, postgres_engine, sqlite_engine
from waypost.database.failures import DatabaseUnavailable, translate_errors
from waypost.database.point_read import PointRead
from waypost.database.shared_commits import AFTER_COMMIT, SharedCommits
from waypost.database.url import location_of
from waypost.database.write_lock import WriteLock
from waypost.kit.fair_queue import FairQueue
from waypost.metrics import Gauge

Tx = AsyncConnection
"""An open transaction, from `read()` or `write()`. Its user neither commits nor rolls back."""


# A waiting transaction fails after 10 s, and an idle one that holds the lock loses it after 60 s: a machine that was
# paused or disconnected would otherwise block all others for hours, until TCP closes its connection.
_TAKE_LOCK = text(
    "SELECT set_config('lock_timeout', '10s', TRUE), set_config('idle_in_transaction_session_timeout', '60s', TRUE),"
    " pg_advisory_xact_lock(:key)"
)
_SHARE_LOCK = text("SELECT pg_try_advisory_xact_lock_shared(:key)")


def after_commit(tx: Tx, call: Callable[[], None]) -> None:
    """Call as soon as this write transaction is committed, before anybody learns of it. Not if it is rolled back."""
    tx.info[AFTER_COMMIT].append(call)


class Database:
    def __init__(self, url: str, *, readers: int = 4, read_timeout: float | None = None) -> None:
        """`url`: `sqlite:///path` or `postgresql://…`; `readers`: maximum number of read connections.

        `read_timeout`: seconds after which a read statement is interrupted; None, for background work, is no limit.
        """
        parsed = make_url(url)
        self.dialect: Literal["sqlite", "postgresql"] = (
            "sqlite" if parsed.get_backend_name() == "sqlite" else "postgresql"
        )
        self.url = url
        self._shared_commits: SharedCommits | None = None
        if self.dialect == "sqlite":
            self.path = Path(parsed.database or "")
            self._reader = sqlite_engine(parsed, begin="BEGIN", size=readers, limit=read_timeout)
            self._long_reader = sqlite_engine(parsed, begin="BEGIN", size=2) if read_timeout else self._reader
            self._writer = sqlite_engine(parsed, begin="BEGIN IMMEDIATE", size=1)
            self._point_reader = in_thread_engine(parsed)
            self._driver_connection: sqlite3.Connection | None = None
            self._write_lock = WriteLock(Path(f"{self.path}-lock"))  # SQLite has one writer
            if read_timeout:  # in background work, a long transaction would keep short ones from being committed
                self._shared_commits = SharedCommits(self._begin_write)
        else:
            self._reader = postgres_engine(parsed, size=readers * 4, limit=read_timeout)
            self._writer = postgres_engine(parsed, size=readers * 2) if read_timeout else self._reader
            self._long_reader = self._writer
        slots = max(1, (readers if self.dialect == "sqlite" else readers * 4) * 3 // 4)
        self._fair_slots = FairQueue(slots, per_key=max(1, readers // 2), max_waiting=1_024, max_waiting_per_key=128)

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[Tx]:
        """Open a read-only transaction on one consistent snapshot.

        Raises Unavailable when the database cannot be reached, and when a statement exceeds the limit.
        """
        async with self._read(self._reader) as tx:
            yield tx

    @contextlib.asynccontextmanager
    async def read_for(self, account: UUID) -> AsyncIterator[Tx]:
        """`read()` for queries whose time grows with the account's data: no account can use all connections."""
        async with self._fair_slots.slot(account), self.read() as tx:
            yield tx

    @contextlib.asynccontextmanager
    async def read_long(self) -> AsyncIterator[Tx]:
        """`read()` without the limit, on separate connections: for exports."""
        async with self._read(self._long_reader) as tx:
            yield tx

    @contextlib.asynccontextmanager
    async def _read(self, engine: AsyncEngine) -> AsyncIterator[Tx]:
        async with translate_errors(self.url), engine.connect() as connection:
            if self.dialect == "postgresql":
                await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            yield connection
            if self.dialect == "postgresql":
                await connection.commit()  # a rollback would discard the driver's prepared statements

    def point_read(self) -> contextlib.AbstractAsyncContextManager[Tx | PointRead]:
        """Read single rows by a unique key, nothing else: on SQLite the statement blocks the event loop.

        Each statement sees its own snapshot. Raises Unavailable when the database cannot be reached.
        """
        if self.dialect == "sqlite":
            return PointRead(self._point_reader, self._open_driver_connection, self.url)
        return self._point_read()

    @contextlib.asynccontextmanager
    async def _point_read(self) -> AsyncIterator[Tx]:
        async with translate_errors(self.url), self._reader.connect() as connection:
            yield await connection.execution_options(isolation_level="AUTOCOMMIT")  # saves two round trips

    def _open_driver_connection(self) -> sqlite3.Connection:
        """Return the connection below SQLAlchemy's: all reads in this thread share one."""
        if self._driver_connection is None:
            opened = self._point_reader.raw_connection()
            self._driver_connection = opened.driver_connection
            opened.close()  # returns it to the pool, which keeps it open
        assert self._driver_connection is not None  # noqa: S101  # the pool has just opened it
        return self._driver_connection

    def version(self) -> object:
        """Return what differs after each commit, of any process. On PostgreSQL it always differs."""
        if self.dialect == "postgresql":
            return object()
        try:
            return self._open_driver_connection().execute("PRAGMA data_version").fetchone()
        except Exception as error:
            raise DatabaseUnavailable(location_of(self.url)) from error

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        """Commit at the end of the block, roll back on an exception. Raises Unavailable.

        In a process that answers requests, concurrent writers on SQLite are committed together.
        """
        begin = self._shared_commits.write if self._shared_commits else self._begin_write
        async with translate_errors(self.url), begin() as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def _begin_write(self) -> AsyncIterator[Tx]:
        async with self._writing(), self._writer.begin() as connection:
            calls: list[Callable[[], None]] = []
            connection.info[AFTER_COMMIT] = calls
            yield connection
        for call in calls:
            call()

    def _writing(self) -> contextlib.AbstractAsyncContextManager[None]:
        return self._write_lock.acquire() if self.dialect == "sqlite" else contextlib.nullcontext()

    async def checkpoint(self) -> None:
        """Copy the log into the file of SQLite without the write lock. Otherwise a commit does it, with the lock."""
        if self.dialect == "sqlite":
            await asyncio.to_thread(checkpoint, self.path)

    def gauges(self) -> list[Gauge]:
        """Use of the connections. A pool that serves several purposes has the name of the first one."""
        waiting = {"read": self._fair_slots.waiting}
        if self.dialect == "sqlite":
            waiting["write"] = self._write_lock.waiting + (self._shared_commits.waiting if self._shared_commits else 0)
        named = {"read": self._reader, "write": self._writer, "export": self._long_reader}
        pools = {engine: name for name, engine in reversed(named.items())}
        return [gauge for engine, name in pools.items() for gauge in engine_gauges(engine, name, waiting.get(name, 0))]

    async def close(self) -> None:
        for engine in {self._reader, self._long_reader, self._writer}:
            await engine.dispose()
        if self.dialect == "sqlite":
            self._point_reader.dispose()
            self._write_lock.close()


async def take_advisory_lock(tx: Tx, name: str) -> None:
    """Take a lock until the transaction ends. Not needed on SQLite, which has one writer.

    `name`: at most 7 ASCII characters, the key. Raises Unavailable after 10 s. The limit applies to every lock
    until the transaction ends.
    """
    if tx.dialect.name == "postgresql":
        await tx.execute(_TAKE_LOCK, {"key": int.from_bytes(name.encode())})


async def share_advisory_lock(tx: Tx, name: str) -> bool:
    """Share a lock until the transaction ends, unless somebody holds it. On PostgreSQL only."""
    return bool(await tx.scalar(_SHARE_LOCK, {"key": int.from_bytes(name.encode())}))


def upsert(tx: Tx, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that can have an ON CONFLICT clause."""
    return sqlite.insert(table) if tx.dialect.name == "sqlite" else postgresql.insert(table)
