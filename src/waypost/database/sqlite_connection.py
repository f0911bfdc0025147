"""An aiosqlite connection that runs a statement in one round trip to its thread, where the driver makes four.

The driver creates a cursor, executes, fetches and closes it, each in a round trip; together these take longer than most
statements. All rows of a result are fetched together in either case.

Uses private parts of aiosqlite and of SQLAlchemy's dialect, whose versions `pyproject.toml` pins.

On a connection with a time limit, a statement is interrupted when it exceeds the limit or its task is cancelled.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from sqlalchemy.dialects.sqlite.aiosqlite import AsyncAdapt_aiosqlite_connection, AsyncAdapt_aiosqlite_cursor

_INTERRUPT_INTERVAL = 0.05  # seconds


class SqliteConnection(AsyncAdapt_aiosqlite_connection):
    __slots__ = ("limit",)

    def __init__(self, dbapi: Any, connection: Any, limit: float | None) -> None:
        """`limit`: seconds of each statement; None is no limit."""
        self.limit = limit
        super().__init__(dbapi, connection)


class _OneTripCursor:
    """The part of a cursor that SQLAlchemy uses."""

    def __init__(self, connection: Any, limit: float | None) -> None:
        """`connection`: aiosqlite's. `limit`: seconds."""
        self._connection = connection
        self._limit = limit
        self._is_over = False
        self._rows: Sequence[Any] = ()
        self.arraysize = 1
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None

    async def execute(self, sql: str, parameters: Any = ()) -> "_OneTripCursor":
        return await self._run(lambda cursor: cursor.execute(sql, parameters))

    async def executemany(self, sql: str, parameters: Any) -> "_OneTripCursor":
        return await self._run(lambda cursor: cursor.executemany(sql, parameters))

    async def fetchall(self) -> Sequence[Any]:
        rows, self._rows = self._rows, ()  # SQLAlchemy copies them
        return rows

    async def _run(self, execute: Callable[[sqlite3.Cursor], object]) -> "_OneTripCursor":
        running = self._connection._execute(self._do, execute)  # noqa: SLF001  # the only access to its thread
        await (running if self._limit is None else self._run_with_limit(self._limit, running))
        return self

    async def _run_with_limit(self, limit: float, running: Awaitable[None]) -> None:
        """An interrupted statement raises OperationalError.

        An interrupt before the thread has begun the statement has no effect, so it is repeated until the end.
        """
        loop, interrupt = asyncio.get_running_loop(), self._connection._conn.interrupt  # noqa: SLF001

        def end() -> None:
            if not self._is_over:
                interrupt()
                loop.call_later(_INTERRUPT_INTERVAL, end)

        self._is_over = False
        timer = loop.call_later(limit, end)
        try:
            await running
        except asyncio.CancelledError:
            end()
            raise
        finally:
            timer.cancel()

    def _do(self, execute: Callable[[sqlite3.Cursor], object]) -> None:
        cursor = self._connection._conn.cursor()  # noqa: SLF001
        try:
            execute(cursor)
            self._rows = cursor.fetchall()
            self.description, self.rowcount, self.lastrowid = cursor.description, cursor.rowcount, cursor.lastrowid
        finally:
            self._is_over = True
            cursor.close()

    def close(self) -> None:
        """Do nothing: `_do` has closed the cursor."""


class _AdaptedCursor(AsyncAdapt_aiosqlite_cursor):
    __slots__ = ()
    _adapt_connection: SqliteConnection
    _awaitable_cursor_close = False

    def _make_new_cursor(self, connection: Any) -> Any:
        return _OneTripCursor(connection, self._adapt_connection.limit)

    def _aenter_cursor(self, cursor: Any) -> Any:
        return cursor


SqliteConnection._cursor_cls = _AdaptedCursor  # noqa: SLF001  # the two classes name each other
