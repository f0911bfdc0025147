"""Connections to SQLite: each has a thread, but for the one that reads single rows in the event loop."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy.exc import IntegrityError

from waypost.database.rows import Executed
from waypost.kit.memory import scaled

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
_INTERRUPT_INTERVAL = 0.05  # seconds

_T = TypeVar("_T")


def connect(path: Path, *, reads_only: bool) -> sqlite3.Connection:
    """Open a connection that begins no transactions by itself."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        for name, value in SQLITE_PRAGMAS.items():
            connection.execute(f"PRAGMA {name} = {value}")
        connection.execute(f"PRAGMA cache_size = {scaled(_READER_CACHE if reads_only else WRITER_CACHE)}")
        connection.execute(f"PRAGMA query_only = {'on' if reads_only else 'off'}")
    except BaseException:
        connection.close()
        raise
    return connection


def checkpoint(path: Path) -> None:
    """Takes no lock that others need. A failing disk is left to the next commit, which reports it."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path, timeout=0)) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def _execute(connection: sqlite3.Connection, sql: str, parameters: Any) -> Executed:
    try:
        is_many = isinstance(parameters, list)
        cursor = (connection.executemany if is_many else connection.execute)(sql, parameters or ())
        return cursor, cursor.fetchall()
    except sqlite3.IntegrityError as error:
        raise IntegrityError(None, None, error) from error


class InLoop:
    """Executes statements in the event loop's thread, each with a snapshot of its own: for single rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: sqlite3.Connection | None = None

    @property
    def driver_connection(self) -> sqlite3.Connection:
        if self._opened is None:
            self._opened = connect(self._path, reads_only=True)
        return self._opened

    async def execute(self, sql: str, parameters: Any = None) -> Executed:
        return _execute(self.driver_connection, sql, parameters)

    def close(self) -> None:
        if self._opened:
            self._opened.close()
            self._opened = None


class InThread:
    """Executes one statement after the other in a thread of its own, also those whose caller was cancelled.

    A statement that reads is interrupted when it exceeds the time limit or its task is cancelled.
    """

    def __init__(self, path: Path, *, reads_only: bool, limit: float | None = None) -> None:
        """`limit`: seconds of each statement; None is no limit."""
        self._path = path
        self._reads_only = reads_only
        self._limit = limit
        self._thread = ThreadPoolExecutor(1, "sqlite")
        self.driver_connection: sqlite3.Connection
        self.is_usable = True

    async def open(self) -> None:
        opening = self._thread.submit(connect, self._path, reads_only=self._reads_only)
        self.driver_connection = await asyncio.wrap_future(opening)

    async def execute(self, sql: str, parameters: Any = None) -> Executed:
        return await self._run(lambda: self._execute(sql, parameters))

    def _execute(self, sql: str, parameters: Any) -> Executed:
        if self._reads_only and not self.driver_connection.in_transaction:
            self.driver_connection.execute("BEGIN")
        return _execute(self.driver_connection, sql, parameters)

    @contextlib.asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """The first statement begins the transaction."""
        try:
            yield
        finally:
            self._thread.submit(self.driver_connection.rollback)  # before the next statement

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        try:
            await self.execute("BEGIN IMMEDIATE")
            yield
            await self.execute("COMMIT")  # raises if SQLite has rolled back
        except BaseException:
            await asyncio.shield(self._run(self.driver_connection.rollback))  # also if it is cancelled again
            raise

    async def close(self) -> None:
        await asyncio.wrap_future(self._thread.submit(self.driver_connection.close))
        self._thread.shutdown(wait=False)

    async def _run(self, call: Callable[[], _T]) -> _T:
        """An interrupted statement raises OperationalError.

        An interrupt before the thread has begun the statement has no effect, so it is repeated until the end.
        """
        running = self._thread.submit(call)
        if not self._reads_only:
            return await asyncio.wrap_future(running)
        loop = asyncio.get_running_loop()

        def end() -> None:
            if not running.done():
                self.driver_connection.interrupt()
                loop.call_later(_INTERRUPT_INTERVAL, end)

        timer = loop.call_later(self._limit, end) if self._limit else None
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            end()
            raise
        finally:
            if timer:
                timer.cancel()
