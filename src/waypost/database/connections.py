"""How connections to SQLite and PostgreSQL are opened and configured."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Dialect, Engine, FromClause, create_engine, event
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.engine import URL
from sqlalchemy.pool import AsyncAdaptedQueuePool, StaticPool

from waypost.database.async_engine import AsyncEngine, create_async_engine
from waypost.database.sqlite_connection import SqliteConnection
from waypost.kit.memory import scaled
from waypost.metrics import Gauge

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

POOL_TIMEOUT = 2.0  # seconds that a request waits for a connection
TCP_OPTIONS: dict[str, Any] = {
    "connect_timeout": 2,  # seconds
    "tcp_user_timeout": 2_000,  # milliseconds
    "keepalives_idle": 2,
    "keepalives_interval": 1,
}
"""Without these, a statement waits for a quarter of an hour when the network drops packets or a server disappears."""


class _Compiler(SQLiteCompiler):
    """Renders `with_hint` of a table as well: `INDEXED BY`, where SQLite would choose a worse index."""

    def get_from_hint_text(self, table: FromClause, text: str | None) -> str | None:  # noqa: ARG002  # SQLAlchemy's own
        return text


def sqlite_engine(url: URL, *, begin: str, size: int, limit: float | None = None) -> AsyncEngine:
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


def in_thread_engine(url: URL) -> Engine:
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


def checkpoint(path: Path) -> None:
    """Takes no lock that others need. A failing disk is left to the next commit, which reports it."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path, timeout=0)) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def postgres_engine(url: URL, *, size: int, limit: float | None = None) -> AsyncEngine:
    engine = create_async_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=size,
        max_overflow=0,
        pool_timeout=POOL_TIMEOUT,
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


def engine_gauges(engine: AsyncEngine, name: str, waiting: int) -> list[Gauge]:
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
