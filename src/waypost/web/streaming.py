"""Responses that are generated while they are sent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping

from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send


class StreamedResponse(StreamingResponse):
    """Calls `leave` however it ends. Also ends when the client reads nothing for `unread` seconds."""

    def __init__(
        self,
        chunks: AsyncIterator[str] | AsyncIterator[bytes],
        media_type: str,
        leave: Callable[[], None],
        *,
        headers: Mapping[str, str],
        unread: float,
    ) -> None:
        super().__init__(chunks, media_type=media_type, headers=headers)
        self._leave = leave
        self._unread = unread

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(self._unread):
                    await send(message)
            except TimeoutError:
                raise _NotReadError from None

        try:
            with contextlib.suppress(_NotReadError, ClientDisconnect):
                await super().__call__(scope, receive, send_in_time)
        finally:
            self._leave()


class _NotReadError(Exception):
    """The client did not read a chunk in time."""
