"""PostgreSQL notifications, with callbacks for when the connection is lost and restored."""

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn

import psycopg
import structlog
from psycopg import sql

from waypost.database.postgres import connect, shut_socket

log = structlog.get_logger(__name__)

_HEARTBEAT = 0.5  # seconds between two questions whether the connection still works
_LATE = 0.4  # seconds without an answer: with the heartbeat, a silent failure has consequences within a second
_TIMEOUT = 2.0  # seconds without an answer until the connection is given up
_RETRY = 0.5


async def follow_channel(
    url: str,
    channel: str,
    *,
    on_payload: Callable[[str], None],
    on_complete: Callable[[], None],
    on_connected: Callable[[], None],
    on_lost: Callable[[], None],
) -> NoReturn:
    """Call `on_connected` when no notification can be missed from now on, and `on_lost` when some may be missing.

    `on_complete` is called about twice a second, when the connection has delivered all notifications so far. After
    `on_lost` it means, unless `on_connected` is called in between, that they were late and none is missing.
    """
    is_lost = False

    def connected() -> None:
        nonlocal is_lost
        on_connected()
        if is_lost:
            log.info("change feed reconnected")
        is_lost = False

    while True:
        try:
            await _listen(url, channel, on_payload, on_complete, connected, on_lost)
        except (psycopg.Error, TimeoutError, OSError) as error:
            on_lost()
            if not is_lost:
                log.warning("change feed disconnected", effect="each route is checked first", error=str(error).strip())
            is_lost = True
            await asyncio.sleep(_RETRY)


async def _listen(
    url: str,
    channel: str,
    on_payload: Callable[[str], None],
    on_complete: Callable[[], None],
    on_connected: Callable[[], None],
    on_lost: Callable[[], None],
) -> NoReturn:
    async with await connect(url) as connection:
        await _execute(connection, sql.SQL("LISTEN {}").format(sql.Identifier(channel)), on_late=on_lost)
        on_connected()
        while True:
            await _receive(connection, on_payload, seconds=_HEARTBEAT)
            await _execute(connection, sql.SQL("SELECT 1"), on_late=on_lost)
            await _receive(connection, on_payload, seconds=0)  # what came with the answer
            on_complete()


async def _receive(
    connection: psycopg.AsyncConnection[Any], on_payload: Callable[[str], None], *, seconds: float
) -> None:
    async for notice in connection.notifies(timeout=seconds):
        on_payload(notice.payload)


async def _execute(
    connection: psycopg.AsyncConnection[Any], statement: sql.SQL | sql.Composed, *, on_late: Callable[[], None]
) -> None:
    """Execute a statement. Raises psycopg.Error, also if there is no answer in time."""
    answer = asyncio.ensure_future(connection.execute(statement))
    try:
        if not (await asyncio.wait([answer], timeout=_LATE))[0]:
            on_late()
            await asyncio.wait([answer], timeout=_TIMEOUT)
    finally:
        if not answer.done():
            shut_socket(connection)
        await asyncio.gather(answer, return_exceptions=True)
    await answer
