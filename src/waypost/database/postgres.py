"""Connections to PostgreSQL."""

import contextlib
import os
import socket
from collections.abc import AsyncIterator
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy.exc import IntegrityError

from waypost.database.rows import Executed

_SETTINGS = "SET jit = off; SET plan_cache_mode = force_custom_plan"
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
_IN_TRANSACTION = {TransactionStatus.INTRANS, TransactionStatus.INERROR}
_CONNECTION_ENDED = ("", "57P")
"""SQLSTATE, or its class, of errors that say nothing about the statement: no answer, or the server shuts down."""


async def connect(url: str) -> psycopg.AsyncConnection[Any]:
    """Open a connection that begins no transactions by itself."""
    conninfo = "postgresql://" + url.partition("://")[2]
    return await psycopg.AsyncConnection.connect(conninfo, autocommit=True, application_name="waypost", **TCP_OPTIONS)


def shut_socket(connection: psycopg.AsyncConnection[Any]) -> None:
    """End the statement in progress. A canceled one would wait for the server for ten seconds."""
    with socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)


class PostgresConnection:
    """Outside `reading` and `writing`, each statement commits by itself, and runs twice if the connection was lost."""

    def __init__(self, url: str, *, limit: float | None = None, settings: str = _SETTINGS) -> None:
        """`limit`: seconds of each statement; None is no limit."""
        self._url = url
        limited = f"; SET statement_timeout = {round(limit * 1000)}" if limit else ""
        self._settings = (settings + limited).encode()
        self._is_given_up = False
        self.driver_connection: psycopg.AsyncConnection[Any]

    async def open(self) -> None:
        self.driver_connection = await connect(self._url)
        try:
            await self.driver_connection.execute(self._settings)
        except BaseException:
            await self.close()
            raise

    @property
    def is_usable(self) -> bool:
        return not self._is_given_up and self.driver_connection.info.transaction_status == TransactionStatus.IDLE

    async def execute(self, sql: str, parameters: Any = None) -> Executed:
        is_idle = self.is_usable
        try:
            return await self._execute(sql.encode(), parameters)
        except psycopg.OperationalError as error:
            if not is_idle or self._is_given_up or (error.sqlstate or "")[:3] not in _CONNECTION_ENDED:
                raise
            await self.close()
            await self.open()
            if self._is_given_up:  # meanwhile
                raise
        return await self._execute(sql.encode(), parameters)

    async def _execute(self, sql: bytes, parameters: Any) -> Executed:
        cursor = self.driver_connection.cursor()
        try:
            if isinstance(parameters, list):
                await cursor.executemany(sql, parameters)
                return cursor, ()
            await cursor.execute(sql, parameters, prepare=False if parameters is None else None)
        except psycopg.IntegrityError as error:
            raise IntegrityError(None, None, error) from error
        except psycopg.errors.FeatureNotSupported:  # it was prepared before a migration changed its columns
            await self.close()
            raise
        return cursor, await cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else ()

    def reading(self) -> contextlib.AbstractAsyncContextManager[None]:
        return self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def writing(self) -> contextlib.AbstractAsyncContextManager[None]:
        return self._transaction("BEGIN")

    @contextlib.asynccontextmanager
    async def _transaction(self, begin: str) -> AsyncIterator[None]:
        try:
            await self.execute(begin)
            yield
            await self.execute("COMMIT")  # a rollback would discard the driver's prepared statements
        except BaseException:
            if self.driver_connection.info.transaction_status in _IN_TRANSACTION:
                with contextlib.suppress(psycopg.Error):  # then it is not usable any more
                    await self.execute("ROLLBACK")
            raise

    def give_up(self) -> None:
        """End the statement in progress and use the connection no more."""
        self._is_given_up = True
        if not self.driver_connection.closed:
            shut_socket(self.driver_connection)

    async def close(self) -> None:
        await self.driver_connection.close()
