"""Explicit transactions on SQLite and PostgreSQL: `read()` sees one snapshot, `write()` is exclusive on SQLite.

There is no autocommit except for single rows, and no ambient session. SQLite's default transactions are not used: they
take the write lock so late that two writers can read the same row, and one update is lost without an error.
"""

import asyncio
import contextlib
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import UUID

from sqlalchemy import (
    Connection,
    CursorResult,
    Dialect,
    Engine,
    Executable,
    FromClause,
    Table,
    create_engine,
    event,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    DatabaseError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import AsyncAdaptedQueuePool, StaticPool

from waypost.database.async_engine import AsyncConnection, AsyncEngine, create_async_engine
from waypost.database.held_commit import HeldCommit
from waypost.database.sqlite_connection import SqliteConnection
from waypost.database.url import location_of
from waypost.database.write_lock import WriteLock
from waypost.kit.errors import Unavailable
from waypost.kit.fair_queue import FairQueue
from waypost.kit.memory import scaled
from waypost.metrics import Gauge

T = TypeVar("T")
Tx = AsyncConnection
"""An open transaction, from `read()` or `write()`. Its user neither commits nor rolls back."""


_DAMAGED = ". The file is damaged: stop the service, keep a copy of the file, and restore the last backup"
_SQLITE_ADVICE = {
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_FULL: ". Free some space on its file system",
    sqlite3.SQLITE_READONLY: ". Make it and its directory writable for the user that runs the service",
}
"""By SQLite's primary result code."""


class DatabaseUnavailable(Unavailable):
    """The database cannot be used right now. Try again in a moment."""

    def __init__(self, location: str) -> None:
        super().__init__()
        self.location = location

    @property
    def details(self) -> str:
        """Location and cause, in one line."""
        cause = getattr(self.__cause__, "orig", None) or self.__cause__
        advice = _SQLITE_ADVICE.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF, "")
        return f"The database {self.location} cannot be used: {' '.join(str(cause).split())}{advice}"


class PointRead:
    """Reads a row by its key on SQLite in the event loop's thread, which takes a tenth of the time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def execute(self, statement: Executable, parameters: Mapping[str, Any] | None = None) -> CursorResult[Any]:
        return self._connection.execute(statement, parameters)


_READER_CACHE = -16_000  # KiB
SQLITE_PRAGMAS = {
    "journal_mode": "wal",
    "busy_timeout": 10_000,  # milliseconds; a writer of another process holds the lock for a few of them
    "synchronous": "full",  # a drained spool segment is deleted after its commit, so the commit must be on the disk
    "foreign_keys": "on",
    "cache_size": _READER_CACHE,
    "mmap_size": 1 << 30,
    "temp_store": "memory",
    "wal_autocheckpoint": 32_000,  # pages: batches of clicks write the same ones, and a checkpoint copies each
}
WRITER_CACHE = -64_000  # KiB: a batch of clicks fits; a smaller cache would write its pages twice

_PLAN_SETTINGS = "SET jit = off; SET plan_cache_mode = force_custom_plan"
"""PostgreSQL plans each call for its values: a generic plan suits neither a common nor a rare tag, and took a second
where the right one takes 5 ms. JIT compilation takes longer than any statement here.
"""

TCP_OPTIONS: dict[str, Any] = {
    "connect_timeout": 2,  # seconds
    "tcp_user_timeout": 2_000,  # milliseconds
    "keepalives_idle": 2,
    "keepalives_interval": 1,
}
"""Without these, a statement waits for a quarter of an hour when the network drops packets or a server disappears."""

_OUTDATED = "0A000"
"""PostgreSQL's code for a prepared statement whose column types have changed. The next attempt prepares it again."""

_QUERY_CANCELED = "57014"
"""PostgreSQL's code for a statement that took longer than `statement_timeout`."""


# A waiting transaction fails after 10 s, and an idle one that holds the lock loses it after 60 s: a machine that was
# paused or disconnected would otherwise block all others for hours, until TCP closes its connection.
_TAKE_LOCK = text(
    "SELECT set_config('lock_timeout', '10s', TRUE), set_config('idle_in_transaction_session_timeout', '60s', TRUE),"
    " pg_advisory_xact_lock(:key)"
)


class _Compiler(SQLiteCompiler):
    """Renders `with_hint` of a table as well: `INDEXED BY`, where SQLite would choose a worse index."""

    def get_from_hint_text(self, table: FromClause, text: str | None) -> str | None:  # noqa: ARG002  # SQLAlchemy's own
        return text


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
        if self.dialect == "sqlite":
            self.path = Path(parsed.database or "")
            self._reader = _sqlite_engine(parsed, begin="BEGIN", size=readers, limit=read_timeout)
            self._long_reader = _sqlite_engine(parsed, begin="BEGIN", size=2) if read_timeout else self._reader
            self._writer = _sqlite_engine(parsed, begin="BEGIN IMMEDIATE", size=1)
            self._point_reader = _in_thread_engine(parsed)
            self._write_lock = WriteLock(Path(f"{self.path}-lock"))  # SQLite has one writer
        else:
            self._reader = _postgres_engine(parsed, size=readers * 4, limit=read_timeout)
            self._writer = _postgres_engine(parsed, size=readers * 2) if read_timeout else self._reader
            self._long_reader = self._writer
        slots = max(1, (readers if self.dialect == "sqlite" else readers * 4) * 3 // 4)
        self._held: dict[asyncio.Task[Any] | None, HeldCommit] = {}
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
        if self._held:
            await self._commit_held()
        async with _translate_errors(self.url), engine.connect() as connection:
            if self.dialect == "postgresql":
                await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            yield connection
            if self.dialect == "postgresql":
                await connection.commit()  # a rollback would discard the driver's prepared statements

    @contextlib.asynccontextmanager
    async def point_read(self) -> AsyncIterator[Tx | PointRead]:
        """Read single rows by a unique key, nothing else: on SQLite the statement blocks the event loop.

        Each statement sees its own snapshot. Raises Unavailable when the database cannot be reached.
        """
        if self._held:
            await self._commit_held()
        if self.dialect == "postgresql":
            async with _translate_errors(self.url), self._reader.connect() as connection:
                yield await connection.execution_options(isolation_level="AUTOCOMMIT")  # saves two round trips
            return
        async with _translate_errors(self.url):
            with self._point_reader.connect() as connection:
                yield PointRead(connection)

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        """Commit at the end of the block, roll back on an exception. Raises Unavailable."""
        held = self._held.get(asyncio.current_task()) if self._held else None
        async with held.write() if held else self._write() as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def _write(self) -> AsyncIterator[Tx]:
        async with _translate_errors(self.url), self._writing(), self._writer.begin() as connection:
            yield connection

    def hold_commits(self) -> HeldCommit:
        """Keep the last write transaction of the current task open until `let_commits_go` and the commit.

        Other transactions and reads of the task commit the one before.
        """
        held = self._held[asyncio.current_task()] = HeldCommit(self._write)
        return held

    def let_commits_go(self) -> None:
        del self._held[asyncio.current_task()]

    def after_commit(self, call: Callable[[T], None], argument: T) -> None:
        """Call after `write()`: immediately, or after the commit if that is held."""
        held = self._held.get(asyncio.current_task()) if self._held else None
        if held:
            held.after_commit(call, argument)
        else:
            call(argument)

    async def _commit_held(self) -> None:
        if held := self._held.get(asyncio.current_task()):
            await held.commit()

    def _writing(self) -> contextlib.AbstractAsyncContextManager[None]:
        return self._write_lock.acquire() if self.dialect == "sqlite" else contextlib.nullcontext()

    def gauges(self) -> list[Gauge]:
        """Use of the connections. A pool that serves several purposes has the name of the first one."""
        waiting = {"read": self._fair_slots.waiting}
        if self.dialect == "sqlite":
            waiting["write"] = self._write_lock.waiting
        named = {"read": self._reader, "write": self._writer, "export": self._long_reader}
        pools = {engine: name for name, engine in reversed(named.items())}
        return [gauge for engine, name in pools.items() for gauge in _engine_gauges(engine, name, waiting.get(name, 0))]

    async def close(self) -> None:
        for engine in {self._reader, self._long_reader, self._writer}:
            await engine.dispose()
        if self.dialect == "sqlite":
            self._point_reader.dispose()
            self._write_lock.close()


@contextlib.asynccontextmanager
async def _translate_errors(url: str) -> AsyncIterator[None]:
    try:
        yield
    except IntegrityError:
        raise
    except (OperationalError, InterfaceError, InternalError, PoolTimeoutError) as error:
        if _is_interrupted(error):
            raise Unavailable("The query took too long. Request less data, or try again later.") from error
        raise DatabaseUnavailable(location_of(url)) from error
    except Exception as error:
        if _is_outage(error):
            raise DatabaseUnavailable(location_of(url)) from error
        raise


def _is_interrupted(error: Exception) -> bool:
    driver_error = getattr(error, "orig", None)
    is_canceled = getattr(driver_error, "sqlstate", "") == _QUERY_CANCELED
    return is_canceled or getattr(driver_error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT


def _is_outage(error: Exception) -> bool:
    if type(error) is DatabaseError:  # SQLite: the file is damaged, or no database
        return True
    if isinstance(error, DBAPIError):
        return error.connection_invalidated or getattr(error.orig, "sqlstate", "") == _OUTDATED
    psycopg = sys.modules.get("psycopg")  # loaded on PostgreSQL only (7 MB); COPY bypasses SQLAlchemy
    return psycopg is not None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def _sqlite_engine(url: URL, *, begin: str, size: int, limit: float | None = None) -> AsyncEngine:
    engine = create_async_engine(
        url.set(drivername="sqlite+aiosqlite"),
        poolclass=AsyncAdaptedQueuePool,
        pool_size=size,
        max_overflow=0,
        pool_timeout=30,
        hide_parameters=True,  # error texts are logged, and parameters can be secrets
    )

    _configure(engine.sync_engine, reads_only=begin == "BEGIN")

    @event.listens_for(engine.sync_engine, "do_connect")
    def connect(dialect: Dialect, _record: Any, arguments: Any, options: Any) -> Any:
        # A failure to open is raised here: in aiosqlite its thread may outlive the event loop and print a traceback.
        sqlite3.connect(arguments[0]).close()
        adapted: Any = dialect.connect(*arguments, **options)
        return SqliteConnection(adapted.dbapi, adapted.driver_connection, limit)

    @event.listens_for(engine.sync_engine, "begin")
    def start(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _in_thread_engine(url: URL) -> Engine:
    engine = create_engine(url.set(drivername="sqlite"), poolclass=StaticPool, hide_parameters=True)
    _configure(engine, reads_only=True)
    return engine


def _configure(engine: Engine, *, reads_only: bool) -> None:
    engine.dialect.statement_compiler = _Compiler
    cache = scaled(_READER_CACHE if reads_only else WRITER_CACHE)

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver must not begin transactions
        cursor = connection.cursor()
        for name, value in SQLITE_PRAGMAS.items():
            cursor.execute(f"PRAGMA {name} = {value}")
        cursor.execute(f"PRAGMA cache_size = {cache}")
        cursor.execute(f"PRAGMA query_only = {'on' if reads_only else 'off'}")
        cursor.close()


def _postgres_engine(url: URL, *, size: int, limit: float | None = None) -> AsyncEngine:
    engine = create_async_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=size,
        max_overflow=0,
        pool_timeout=2,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={"application_name": "waypost", **TCP_OPTIONS},
    )

    @event.listens_for(engine.sync_engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        connection.autocommit = True
        cursor = connection.cursor()
        cursor.execute(_PLAN_SETTINGS)
        if limit is not None:
            cursor.execute(f"SET statement_timeout = {round(limit * 1000)}")
        cursor.close()
        connection.autocommit = False

    return engine


def _engine_gauges(engine: AsyncEngine, name: str, waiting: int) -> list[Gauge]:
    """`waiting`: callers that wait for something else than a connection of the pool."""
    pool: Any = engine.pool
    waiting += len(pool._pool._queue._getters)  # noqa: SLF001  # it has no public count
    return pool_gauges(name, size=pool.size(), in_use=pool.checkedout(), waiting=waiting)


def pool_gauges(name: str, *, size: int, in_use: int, waiting: int) -> list[Gauge]:
    labels = {"pool": name}
    return [
        Gauge("waypost_database_connections_max", "Connections that a pool can open.", size, labels),
        Gauge("waypost_database_connections_in_use", "Connections of a pool in use.", in_use, labels),
        Gauge("waypost_database_waiting", "Callers that wait for a connection or for the write lock.", waiting, labels),
    ]


async def take_advisory_lock(tx: Tx, key: int) -> None:
    """Take a lock until the transaction ends. Not needed on SQLite, which has one writer.

    Raises Unavailable after 10 s. The limit applies to every lock until the transaction ends.
    """
    if tx.dialect.name == "postgresql":
        await tx.execute(_TAKE_LOCK, {"key": key})


def upsert(tx: Tx, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that can have an ON CONFLICT clause."""
    return sqlite.insert(table) if tx.dialect.name == "sqlite" else postgresql.insert(table)
