"""PostgreSQL notifications, with callbacks for when the connection is lost and restored."""

import asyncio
from collections.abc import Callable
from typing import NoReturn

import psycopg
import structlog
from psycopg import sql

log = structlog.get_logger(__name__)

_HEARTBEAT = 1.0  # seconds: a silent connection failure is detected within two of these
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
    """Call `on_connected` when no notification can be missed from now on, and `on_lost` when they can be.

    `on_complete` is called about once a second, when the connection has delivered all notifications so far.
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
            await _listen(url, channel, on_payload, on_complete, connected)
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
) -> None:
    conninfo = "postgresql://" + url.partition("://")[2]
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True, connect_timeout=2) as connection:
        await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        on_connected()
        while True:
            async for notice in connection.notifies(timeout=_HEARTBEAT):
                on_payload(notice.payload)
            async with asyncio.timeout(_HEARTBEAT):
                await connection.execute("SELECT 1")
            on_complete()
