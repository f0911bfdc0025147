"""Images of codes, drawn in a single thread and cached up to a size.

The queue of drawings is fair between accounts. A visitor without a key counts as the account that has the link.
"""

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from uuid import UUID

from waypost.kit.fair_queue import FairQueue
from waypost.resources.qrcodes.style import ImageFormat, parse_style

DRAWING_VERSION = 1
"""Increase it when the drawing changes, so that browsers drop their cached images."""

SAFE_HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}
"""A browser displays the image and runs nothing in it."""

_MAX_BYTES = 32 << 20
_WAITING, _WAITING_EACH = 512, 128
_BUSY = "Too many codes are waiting to be drawn. Try again in a moment."


@dataclass(frozen=True)
class CodeImage:
    text: str
    style: str
    """In the format of `style_text`."""
    format: ImageFormat

    @cached_property
    def etag(self) -> str:
        identity = f"{DRAWING_VERSION}\n{self.format}\n{self.style}\n{self.text}"
        return f'"{sha256(identity.encode()).hexdigest()[:32]}"'


def draw_image(image: CodeImage) -> bytes:
    from waypost.resources.qrcodes import drawing  # noqa: PLC0415  # 3 MB, only for images

    draw = {"png": drawing.png, "svg": drawing.svg}[image.format]
    return draw(image.text, parse_style(image.style))


class ImageCache:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="qrcode")
        self._cached: OrderedDict[CodeImage, bytes] = OrderedDict()
        self._free_bytes = _MAX_BYTES
        self._queue = FairQueue(
            1, per_key=1, max_waiting=_WAITING, max_waiting_per_key=_WAITING_EACH, busy_message=_BUSY
        )
        self._in_progress: dict[CodeImage, asyncio.Task[bytes]] = {}
        self._is_closed = False

    async def get_or_draw(self, image: CodeImage, *, account: UUID) -> bytes:
        """Return the image. Raises Unavailable if too many are waiting."""
        cached = self._cached.get(image)
        if cached is not None:
            self._cached.move_to_end(image)
            return cached
        task = self._in_progress.get(image) or self._start(image, account)
        return await asyncio.shield(task)  # other callers may wait for it, too

    def close(self) -> None:
        """Cancel the waiting callers."""
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _start(self, image: CodeImage, account: UUID) -> asyncio.Task[bytes]:
        task = asyncio.create_task(self._draw_in_thread(image, account))
        self._in_progress[image] = task
        task.add_done_callback(partial(self._store, image))
        return task

    async def _draw_in_thread(self, image: CodeImage, account: UUID) -> bytes:
        async with self._queue.slot(account):
            if self._is_closed:
                raise asyncio.CancelledError
            return await asyncio.get_running_loop().run_in_executor(self._thread, draw_image, image)

    def _store(self, image: CodeImage, task: asyncio.Future[bytes]) -> None:
        del self._in_progress[image]
        if task.cancelled() or task.exception():
            return
        self._cached[image] = task.result()
        self._free_bytes -= len(task.result())
        while self._free_bytes < 0:
            _, content = self._cached.popitem(last=False)
            self._free_bytes += len(content)
