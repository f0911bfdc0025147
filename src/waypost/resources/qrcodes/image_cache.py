"""Images of codes, drawn in a single thread and cached up to a size.

Queue and cache are fair between accounts. A visitor without a key counts as the account that has the link.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import TypeVar
from uuid import UUID

from waypost.kit.errors import Unavailable
from waypost.kit.fair_queue import Busy, FairQueue
from waypost.kit.shared_cache import SharedCache
from waypost.resources.domains.logos.model import Logo
from waypost.resources.qrcodes.style import ImageFormat, parse_style

DRAWING_VERSION = 2
"""Increase it when the drawing changes, so that browsers drop their cached images."""

_MAX_BYTES = 32 << 20
_ENTRY_BYTES = 1_000
"""Of memory beside the image."""
_WAITING, _WAITING_EACH = 512, 128
_PAUSE = 1.0
"""Seconds until the next attempt to draw one of many codes."""
_REPLACED = "The logo of this code has just been changed. Try again."
_BUSY = "Too many codes are waiting to be drawn. Try again in a moment."

T = TypeVar("T")
ReadLogo = Callable[[str], Awaitable[bytes | None]]
"""Reads the content of the logo with a name."""


@dataclass(frozen=True)
class CodeImage:
    text: str
    style: str
    """In the format of `style_text`."""
    format: ImageFormat
    logo: Logo | None = None

    @cached_property
    def etag(self) -> str:
        identity = f"{DRAWING_VERSION}\n{self.format}\n{self.style}\n{self.text}\n{self.logo and self.logo.name}"
        return f'"{sha256(identity.encode()).hexdigest()[:32]}"'


def draw_image(image: CodeImage, logo: bytes | None = None) -> bytes:
    """`logo`: the content of the logo."""
    from waypost.resources.qrcodes import drawing  # noqa: PLC0415  # 3 MB, only for images

    draw = {"png": drawing.png, "svg": drawing.svg, "pdf": drawing.pdf}[image.format]
    drawn = drawing.LogoImage(image.logo, logo) if image.logo and logo else None
    return draw(image.text, parse_style(image.style), drawn)


class ImageCache:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="qrcode")
        self._cached: SharedCache[CodeImage, bytes] = SharedCache(_MAX_BYTES, _MAX_BYTES // 8)
        self._queue = FairQueue(
            1, per_key=1, max_waiting=_WAITING, max_waiting_per_key=_WAITING_EACH, busy_message=_BUSY
        )
        self._in_progress: dict[CodeImage, asyncio.Task[bytes]] = {}
        self._is_closed = False

    async def get_or_draw(self, image: CodeImage, *, account: UUID, read_logo: ReadLogo | None = None) -> bytes:
        """Return the image. Raises Unavailable if too many are waiting."""
        cached = self._cached.get(image)
        if cached is not None:
            return cached
        task = self._in_progress.get(image) or self._start(image, account, read_logo)
        return await asyncio.shield(task)  # other callers may wait for it, too

    async def draw_of_many(self, account: UUID, draw: Callable[[], T]) -> T:
        """Draw one of many codes, in the account's turn. It is not cached.

        Their file has begun to be sent and cannot be refused any more, so this waits as long as others are served.
        """
        while True:
            try:
                return await self._draw_in_turn(account, draw)
            except Busy:
                await asyncio.sleep(_PAUSE)

    def close(self) -> None:
        """Cancel the waiting callers."""
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _start(self, image: CodeImage, account: UUID, read_logo: ReadLogo | None) -> asyncio.Task[bytes]:
        task = asyncio.create_task(self._draw_with_logo(image, account, read_logo))
        self._in_progress[image] = task
        task.add_done_callback(partial(self._store, image, account))
        return task

    async def _draw_with_logo(self, image: CodeImage, account: UUID, read_logo: ReadLogo | None) -> bytes:
        async with self._turn(account):
            logo = await read_logo(image.logo.name) if read_logo and image.logo else None
            if image.logo and logo is None:
                raise Unavailable(_REPLACED)  # the next request finds the new one; nothing is cached
            return await self._run(partial(draw_image, image, logo))

    async def _draw_in_turn(self, account: UUID, draw: Callable[[], T]) -> T:
        async with self._turn(account):
            return await self._run(draw)

    @asynccontextmanager
    async def _turn(self, account: UUID) -> AsyncIterator[None]:
        async with self._queue.slot(account):
            if self._is_closed:
                raise asyncio.CancelledError
            yield

    async def _run(self, draw: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, draw)

    def _store(self, image: CodeImage, account: UUID, task: asyncio.Future[bytes]) -> None:
        del self._in_progress[image]
        if task.cancelled() or task.exception():
            return
        content = task.result()
        self._cached.put(image, content, size=len(content) + _ENTRY_BYTES, owner=account)
