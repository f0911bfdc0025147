"""The scripted name server in a thread of its own, for those who do not run in a loop."""

import asyncio
import threading
from typing import Self

from outbound.servers import NameServer, name_server


class Names:
    server: NameServer
    """Its script may be changed at any time: each answer reads it again."""

    def __enter__(self) -> Self:
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=[self._serve()])
        self._thread.start()
        assert self._is_up.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        async with name_server() as self.server:
            self._is_up.set()
            await self._end.wait()
