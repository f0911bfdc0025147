"""PostgreSQL's notifications, followed for as long as the process lives, with word of when they cannot be trusted."""

import asyncio
from collections.abc import Callable
from typing import NoReturn

import psycopg
import structlog
from psycopg import sql

log = structlog.get_logger(__name__)

_HEARTBEAT = 1.0  # seconds: a connection that died without a word is noticed within two of these
_RETRY = 0.5


async def follow(
    url: str, channel: str, *, on_news: Callable[[str], None], on_found: Callable[[], None], on_lost: Callable[[], None]
) -> NoReturn:
    """Never returns. `on_found` once nothing will be missed from now on, `on_lost` when that ends."""
    is_lost = False

    def found() -> None:
        nonlocal is_lost
        on_found()
        if is_lost:
            log.info("change feed back")
        is_lost = False

    while True:
        try:
            await _listen(url, channel, on_news, found)
        except (psycopg.Error, TimeoutError, OSError) as error:
            on_lost()
            if not is_lost:
                log.warning("change feed lost, every route is checked until it is back", error=str(error).strip())
            is_lost = True
            await asyncio.sleep(_RETRY)


async def _listen(url: str, channel: str, on_news: Callable[[str], None], on_found: Callable[[], None]) -> None:
    conninfo = "postgresql://" + url.partition("://")[2]
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True, connect_timeout=2) as connection:
        await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        on_found()
        while True:
            async for notice in connection.notifies(timeout=_HEARTBEAT):
                on_news(notice.payload)
            async with asyncio.timeout(_HEARTBEAT):
                await connection.execute("SELECT 1")
