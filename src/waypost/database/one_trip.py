"""A statement on SQLite in one trip to its connection's thread, where the driver makes four.

It opens a cursor, executes, fetches and closes, each by itself; the trips took longer than most of our statements. All
rows of an answer are fetched at once in either case.

Where a connection has a time limit, a statement is interrupted when it exceeds it, and when nobody waits for it any
more.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from sqlalchemy.dialects.sqlite.aiosqlite import AsyncAdapt_aiosqlite_connection, AsyncAdapt_aiosqlite_cursor

Row = tuple[Any, ...]

_AGAIN = 0.05  # seconds between two attempts to interrupt a statement


class _Cursor:
    """As much of a cursor as SQLAlchemy asks for."""

    def __init__(self, connection: Any, limit: float | None) -> None:
        """`connection`: aiosqlite's. `limit`: seconds."""
        self._connection = connection
        self._limit = limit
        self._is_over = False
        self._rows: Sequence[Row] = ()
        self.arraysize = 1
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None

    async def execute(self, sql: str, parameters: Any = ()) -> "_Cursor":
        return await self._run(lambda cursor: cursor.execute(sql, parameters))

    async def executemany(self, sql: str, parameters: Any) -> "_Cursor":
        return await self._run(lambda cursor: cursor.executemany(sql, parameters))

    async def fetchall(self) -> Sequence[Row]:
        rows, self._rows = self._rows, ()  # they are copied
        return rows

    async def _run(self, execute: Callable[[sqlite3.Cursor], object]) -> "_Cursor":
        running = self._connection._execute(self._do, execute)  # noqa: SLF001  # there is no other way into its thread
        await (running if self._limit is None else self._within(self._limit, running))
        return self

    async def _within(self, limit: float, running: Awaitable[None]) -> None:
        """What is interrupted raises OperationalError.

        To interrupt has no effect before the thread has begun the statement, so it is repeated until it is over.
        """
        loop, interrupt = asyncio.get_running_loop(), self._connection._conn.interrupt  # noqa: SLF001

        def end() -> None:
            if not self._is_over:
                interrupt()
                loop.call_later(_AGAIN, end)

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
        """It is closed already."""


class _AdaptedCursor(AsyncAdapt_aiosqlite_cursor):
    __slots__ = ()
    _adapt_connection: "Connection"
    _awaitable_cursor_close = False

    def _make_new_cursor(self, connection: Any) -> Any:
        return _Cursor(connection, self._adapt_connection.limit)

    def _aenter_cursor(self, cursor: Any) -> Any:
        return cursor


class Connection(AsyncAdapt_aiosqlite_connection):
    __slots__ = ("limit",)
    _cursor_cls = _AdaptedCursor

    def __init__(self, dbapi: Any, connection: Any, limit: float | None) -> None:
        """`limit`: seconds of each statement; None is no limit."""
        self.limit = limit
        super().__init__(dbapi, connection)
