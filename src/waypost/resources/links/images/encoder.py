"""The threads that re-encode uploaded images."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from uuid import UUID

from waypost.kit.fair_queue import FairQueue
from waypost.resources.links.images.media import ReencodedImage

T = TypeVar("T")

_THREADS = 2  # an image takes up to 130 MB


class ImageReencoder:
    """Re-encodes images in its own threads: decoding never blocks the event loop, and few images are in memory.

    Accounts take turns. The queue is short: when it is full, requests are refused instead of keeping their bodies here.
    """

    def __init__(self, max_waiting: int = 32, max_waiting_per_key: int = 8, *, threads: int = _THREADS) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="image")
        busy = "Too many images are waiting to be processed. Try again in a moment."
        self._queue = FairQueue(
            threads, per_key=1, max_waiting=max_waiting, max_waiting_per_key=max_waiting_per_key, busy_message=busy
        )

    async def reencode(self, content: bytes, *, account: UUID) -> ReencodedImage:
        """Re-encode an image. Raises BadImage; Unavailable if the queue is full."""
        return await self.run(_reencode, content, account=account)

    async def run(self, work: Callable[[bytes], T], content: bytes, *, account: UUID) -> T:
        """Do any work with an image in its turn. Raises what it raises, and Unavailable if the queue is full."""
        async with self._queue.slot(account):
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, content)

    def close(self) -> None:
        """Cancel queued images. Those in progress are finished, within seconds."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _reencode(content: bytes) -> ReencodedImage:
    from waypost.resources.links.images.codec import reencode  # noqa: PLC0415  # 4 MB, only for images

    return reencode(content)
