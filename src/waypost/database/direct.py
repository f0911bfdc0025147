"""A few separate connections for one frequent statement on PostgreSQL, without SQLAlchemy.

Each statement commits by itself and takes one round trip. A key has one statement at a time, so that it cannot use all
connections.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from typing import Any, LiteralString

import psycopg
from psycopg.rows import TupleRow

from waypost.database.connections import pool_gauges
from waypost.database.failures import DatabaseUnavailable
from waypost.database.socket_shutdown import shut_socket
from waypost.database.url import location_of
from waypost.kit.fair_queue import FairQueue
from waypost.metrics import Gauge

_SIZE = 4
_MAX_WAITING = 1_024
_TIMEOUT = 2.0  # seconds for everything: waiting, connecting and the statement
_SETTINGS = (
    "SET plan_cache_mode = force_generic_plan; SET default_transaction_isolation = 'read committed';"
    " SET lock_timeout = '2s'"  # ends a statement on the server, too
)
_CONNECTION_ENDED = ("", "57P")
"""SQLSTATE, or its class, of errors that say nothing about the statement: no answer, or the server shuts down."""

_Connection = psycopg.AsyncConnection[TupleRow]

FetchRow = Callable[[Mapping[str, Any]], Awaitable[TupleRow]]
"""Runs the statement with values and returns its row. Raises Unavailable."""


class DirectConnections:
    """Opens connections when they are needed. For one event loop."""

    def __init__(self, url: str, statement: LiteralString) -> None:
        """`statement`: returns one row. It runs twice if the connection is lost."""
        self._url = url
        self._statement = statement.encode()
        self._idle: list[_Connection] = []
        self._queue = FairQueue(
            _SIZE, per_key=1, max_waiting=_MAX_WAITING, max_waiting_per_key=_MAX_WAITING, timeout=_TIMEOUT
        )

    @contextlib.asynccontextmanager
    async def slot(self, key: Hashable) -> AsyncIterator[FetchRow]:
        """Wait until no other statement of the key runs. Raises Unavailable two seconds after the call."""
        deadline = asyncio.get_running_loop().time() + _TIMEOUT
        async with self._queue.slot(key):
            yield lambda values: self._fetch_row(values, deadline)

    def gauges(self, pool: str) -> list[Gauge]:
        return pool_gauges(pool, size=_SIZE, in_use=self._queue.running, waiting=self._queue.waiting)

    async def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            await self._idle.pop().close()

    async def _fetch_row(self, values: Mapping[str, Any], deadline: float) -> TupleRow:
        try:
            if self._idle:
                try:
                    return await self._execute(self._idle.pop(), values, deadline)
                except psycopg.OperationalError as error:
                    if (error.sqlstate or "")[:3] not in _CONNECTION_ENDED:
                        raise
                    await self.close()  # the server may have restarted: then the others are lost, too
            return await self._execute(await self._connect(deadline), values, deadline)
        except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError, TimeoutError) as error:
            raise DatabaseUnavailable(location_of(self._url)) from error

    async def _execute(self, connection: _Connection, values: Mapping[str, Any], deadline: float) -> TupleRow:
        # a cancelled task would wait for the server; without its socket the statement ends at once
        timer = asyncio.get_running_loop().call_at(deadline, shut_socket, connection)
        try:
            [row] = await (await connection.execute(self._statement, values)).fetchall()
        except BaseException:
            await connection.close()
            raise
        finally:
            timer.cancel()
        self._idle.append(connection)
        return row

    async def _connect(self, deadline: float) -> _Connection:
        conninfo = "postgresql://" + self._url.partition("://")[2]
        async with asyncio.timeout_at(deadline):
            connection = await psycopg.AsyncConnection.connect(
                conninfo, autocommit=True, prepare_threshold=0, application_name="waypost"
            )
            try:
                await connection.execute(_SETTINGS, prepare=False)
            except BaseException:
                await connection.close()
                raise
        return connection
