"""The HTTP server of a web process: uvicorn, told to leave by an event instead of by signals."""

import asyncio
import contextlib
from collections.abc import Iterator

import uvicorn


class Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # the process listens to them, and to its parent's death, itself

    async def leave_on(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self.should_exit = True
