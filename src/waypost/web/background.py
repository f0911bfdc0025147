"""What goes on beside the requests of a process."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from waypost.kit.errors import Unavailable

log = structlog.get_logger(__name__)


async def every(seconds: float, do: Callable[[], Awaitable[None]]) -> None:
    """An outage is told once, and waited out."""
    is_out = False
    while True:
        await asyncio.sleep(seconds)
        try:
            await do()
        except Unavailable as error:
            if not is_out:
                log.warning("waiting for the database", error=error.message)
            is_out = True
        else:
            is_out = False


async def cancel(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
