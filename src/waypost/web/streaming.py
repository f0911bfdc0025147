"""Responses that are generated while they are sent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping

from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send


class StreamedResponse(StreamingResponse):
    """Calls `on_close` at its end. Also ends when the client reads nothing for `read_timeout` seconds."""

    def __init__(
        self,
        chunks: AsyncIterator[str] | AsyncIterator[bytes],
        media_type: str,
        on_close: Callable[[], None],
        *,
        headers: Mapping[str, str],
        read_timeout: float,
    ) -> None:
        super().__init__(chunks, media_type=media_type, headers=headers)
        self._on_close = on_close
        self._read_timeout = read_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(self._read_timeout):
                    await send(message)
            except TimeoutError:
                raise _ReadTimeoutError from None

        try:
            with contextlib.suppress(_ReadTimeoutError, ClientDisconnect):
                await super().__call__(scope, receive, send_in_time)
        finally:
            self._on_close()


class _ReadTimeoutError(Exception):
    """The client did not read a chunk in time."""
