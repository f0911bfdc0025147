"""ImageCache of codes: drawn once, one after the other in a thread of their own, and kept as long as there is room.

Accounts take turns; who asks without a key asks for the account that has the link.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from uuid import UUID

from waypost.kit.fair_queue import FairQueue
from waypost.resources.qrcodes import drawing
from waypost.resources.qrcodes.urls import Format, parse_style

DRAWING = 1
"""Counts up when the same look is drawn otherwise, so that no browser keeps the old picture."""

_DRAWERS = {"png": drawing.png, "svg": drawing.svg}
_ROOM = 32 << 20  # bytes
_WAITING, _WAITING_EACH = 512, 128


@dataclass(frozen=True)
class CodeImage:
    text: str
    style: str
    """As its URL spells it."""
    format: Format

    @cached_property
    def etag(self) -> str:
        told = f"{DRAWING}\n{self.format}\n{self.style}\n{self.text}"
        return f'"{sha256(told.encode()).hexdigest()[:32]}"'


def drawn(picture: CodeImage) -> bytes:
    return _DRAWERS[picture.format](picture.text, parse_style(picture.style))


class ImageCache:
    def __init__(
        self, *, room: int = _ROOM, waiting: int = _WAITING, draw: Callable[[CodeImage], bytes] = drawn
    ) -> None:
        """`room`: bytes that are kept; `waiting`: pictures that may wait to be drawn."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="qrcode")
        self._draw = draw
        self._kept: OrderedDict[CodeImage, bytes] = OrderedDict()
        self._room = room
        busy = "Too many codes are waiting to be drawn. Try again in a moment."
        self._queue = FairQueue(1, each=1, waiting=waiting, waiting_each=_WAITING_EACH, busy=busy)
        self._under_way: dict[CodeImage, asyncio.Task[bytes]] = {}
        self._is_closed = False

    async def content(self, picture: CodeImage, *, account: UUID) -> bytes:
        """Raises Unavailable when too many are waiting."""
        kept = self._kept.get(picture)
        if kept is not None:
            self._kept.move_to_end(picture)
            return kept
        drawing_it = self._under_way.get(picture) or self._begin(picture, account)
        return await asyncio.shield(drawing_it)  # others may wait for it, too

    def close(self) -> None:
        """Who waits is let go."""
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _begin(self, picture: CodeImage, account: UUID) -> asyncio.Task[bytes]:
        task = asyncio.create_task(self._drawn(picture, account))
        self._under_way[picture] = task
        task.add_done_callback(partial(self._keep, picture))
        return task

    async def _drawn(self, picture: CodeImage, account: UUID) -> bytes:
        async with self._queue.slot(account):
            if self._is_closed:
                raise asyncio.CancelledError
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._draw, picture)

    def _keep(self, picture: CodeImage, done: asyncio.Future[bytes]) -> None:
        del self._under_way[picture]
        if done.cancelled() or done.exception():
            return
        self._kept[picture] = done.result()
        self._room -= len(done.result())
        while self._room < 0:
            _, content = self._kept.popitem(last=False)
            self._room += len(content)
