"""An account gets one file with many codes at a time, so that it cannot fill the queue of drawings."""

import asyncio
from collections.abc import Callable
from uuid import UUID

from waypost.kit.errors import InProgress

RUNNING = "Another file with many codes is being made for this account. Wait until it has finished."


class FileTurns:
    def __init__(self, timeout: float = 20.0) -> None:
        """`timeout`: seconds that a request waits for the one before it."""
        self.timeout = timeout
        self._ended: dict[UUID, asyncio.Event] = {}

    async def take(self, account: UUID) -> Callable[[], None]:
        """Return what ends the turn. Raises InProgress."""
        try:
            async with asyncio.timeout(self.timeout):
                while account in self._ended:
                    await self._ended[account].wait()
        except TimeoutError:
            raise InProgress(RUNNING) from None
        ended = self._ended[account] = asyncio.Event()

        def end() -> None:
            del self._ended[account]
            ended.set()

        return end
