"""Explicit transactions on SQLite and PostgreSQL: `read()` sees one snapshot, `write()` is exclusive on SQLite.

There is no autocommit except for single rows, and no ambient session. SQLite's default transactions are not used: they
take the write lock so late that two writers can read the same row, and one update is lost without an error.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Literal, Self, TypeVar
from uuid import UUID

from sqlalchemy import Connection, Table, create_engine, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from waypost.database.failures import DatabaseUnavailable, translate_errors
from waypost.database.pool import Pool
from waypost.database.shared_commits import SharedCommits
from waypost.database.sqlite import InLoop, InThread, checkpoint, connect
from waypost.database.statements import statements_for
from waypost.database.transaction import PooledConnection, Tx
from waypost.database.url import location_of
from waypost.database.write_lock import WriteLock
from waypost.kit.fair_queue import FairQueue
from waypost.metrics import Gauge

_T = TypeVar("_T")

# A waiting transaction fails after 10 s, and an idle one that holds the lock loses it after 60 s: a machine that was
# paused or disconnected would otherwise block all others for hours, until TCP closes its connection.
_TAKE_LOCK = text(
    "SELECT set_config('lock_timeout', '10s', TRUE), set_config('idle_in_transaction_session_timeout', '60s', TRUE),"
    " pg_advisory_xact_lock(:key)"
)
_SHARE_LOCK = text("SELECT pg_try_advisory_xact_lock_shared(:key)")


def after_commit(tx: Tx, call: Callable[[], None]) -> None:
    """Call as soon as this write transaction is committed, before anybody learns of it. Not if it is rolled back."""
    tx.after_commit.append(call)


class Database:
    def __init__(self, url: str, *, readers: int = 4, read_timeout: float | None = None) -> None:
        """`url`: `sqlite:///path` or `postgresql://…`; `readers`: maximum number of read connections.

        `read_timeout`: seconds after which a read statement is interrupted; None, for background work, is no limit.
        """
        parsed = make_url(url)
        self._reader: Pool[PooledConnection]
        self._writer: Pool[PooledConnection]
        self._long_reader: Pool[PooledConnection]
        self.dialect: Literal["sqlite", "postgresql"] = (
            "sqlite" if parsed.get_backend_name() == "sqlite" else "postgresql"
        )
        self.url = url
        self._statements = statements_for(self.dialect)
        self._shared_commits: SharedCommits | None = None
        self._in_loop: InLoop | None = None
        if self.dialect == "sqlite":
            self.path = Path(parsed.database or "")
            reader = partial(InThread, self.path, reads_only=True)
            self._reader = Pool(url, partial(reader, limit=read_timeout), size=readers)
            self._long_reader = Pool(url, reader, size=2) if read_timeout else self._reader
            self._writer = Pool(url, partial(InThread, self.path, reads_only=False), size=1)
            self._in_loop = InLoop(self.path)
            self._in_loop_tx = Tx(self._statements, self._in_loop)
            self._write_lock = WriteLock(Path(f"{self.path}-lock"))  # SQLite has one writer
            if read_timeout:  # in background work, a long transaction would keep short ones from being committed
                self._shared_commits = SharedCommits(self._begin_write)
        else:
            from waypost.database import postgres  # noqa: PLC0415  # its driver takes 7 MB

            pool = partial(Pool[PooledConnection], url, timeout=postgres.POOL_TIMEOUT)
            connection = partial(postgres.PostgresConnection, url)
            self._reader = pool(partial(connection, limit=read_timeout), size=readers * 4)
            self._writer = pool(connection, size=readers * 2) if read_timeout else self._reader
            self._long_reader = self._writer
        slots = max(1, (readers if self.dialect == "sqlite" else readers * 4) * 3 // 4)
        self._fair_slots = FairQueue(slots, per_key=max(1, readers // 2), max_waiting=1_024, max_waiting_per_key=128)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def read(self) -> contextlib.AbstractAsyncContextManager[Tx]:
        """Open a read-only transaction on one consistent snapshot.

        Raises Unavailable when the database cannot be reached, and when a statement exceeds the limit.
        """
        return self._read(self._reader)

    @contextlib.asynccontextmanager
    async def read_for(self, account: UUID) -> AsyncIterator[Tx]:
        """`read()` for queries whose time grows with the account's data: no account can use all connections."""
        async with self._fair_slots.slot(account), self.read() as tx:
            yield tx

    def read_long(self) -> contextlib.AbstractAsyncContextManager[Tx]:
        """`read()` without the limit, on separate connections: for exports."""
        return self._read(self._long_reader)

    @contextlib.asynccontextmanager
    async def _read(self, pool: Pool[PooledConnection]) -> AsyncIterator[Tx]:
        async with pool.connection() as connection, connection.reading():
            yield Tx(self._statements, connection)

    def point_read(self) -> contextlib.AbstractAsyncContextManager[Tx]:
        """Read single rows by a unique key, nothing else: on SQLite the statement blocks the event loop.

        Each statement sees its own snapshot. Raises Unavailable when the database cannot be reached.
        """
        return translate_errors(self.url, self._in_loop_tx) if self._in_loop else self._point_read()

    @contextlib.asynccontextmanager
    async def _point_read(self) -> AsyncIterator[Tx]:
        async with self._reader.connection() as connection:
            yield Tx(self._statements, connection)

    def version(self) -> object:
        """Return what differs after each commit, of any process. On PostgreSQL it always differs."""
        if self._in_loop is None:
            return object()
        try:
            return self._in_loop.driver_connection.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error as error:
            raise DatabaseUnavailable(location_of(self.url)) from error

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        """Commit at the end of the block, roll back on an exception. Raises Unavailable.

        In a process that answers requests, concurrent writers on SQLite are committed together.
        """
        begin = self._shared_commits.write if self._shared_commits else self._begin_write
        async with translate_errors(self.url, None), begin() as tx:
            yield tx

    @contextlib.asynccontextmanager
    async def _begin_write(self) -> AsyncIterator[Tx]:
        async with self._writing(), self._writer.connection() as connection:
            tx = Tx(self._statements, connection)
            async with connection.writing():
                yield tx
        for call in tx.after_commit:
            call()

    def _writing(self) -> contextlib.AbstractAsyncContextManager[None]:
        return self._write_lock.acquire() if self.dialect == "sqlite" else contextlib.nullcontext()

    async def run_sync(self, call: Callable[[Connection], _T]) -> _T:
        """Call with SQLAlchemy's own connection, in a transaction and a thread of its own: for migrations.

        A call that commits is in the next transaction after that.
        """
        async with translate_errors(self.url, None), self._writing():
            return await asyncio.to_thread(self._run_sync, call)

    def _run_sync(self, call: Callable[[Connection], _T]) -> _T:
        if self.dialect == "sqlite":
            engine = create_engine(
                "sqlite://", creator=partial(connect, self.path, reads_only=False), poolclass=NullPool
            )
        else:
            engine = create_engine(f"postgresql+psycopg{self.url.removeprefix('postgresql')}", poolclass=NullPool)
        with engine.connect() as connection:
            if self.dialect == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            result = call(connection)
            connection.commit()
        return result

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
        pools = {pool: name for name, pool in reversed(named.items())}
        return [gauge for pool, name in pools.items() for gauge in pool.gauges(name, waiting.get(name, 0))]

    async def close(self) -> None:
        """Close the connections that are not in use."""
        for pool in {self._reader, self._long_reader, self._writer}:
            await pool.close()
        if self._in_loop:
            self._in_loop.close()
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
