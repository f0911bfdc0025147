"""A queue for resources that all accounts share: each account has its own queue, and free slots rotate among them.

No account can hold all slots. Queues are short and waits are limited: a caller that cannot be served soon gets
`Unavailable` at once and can try again.
"""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable

from waypost.kit.errors import Unavailable


class Allowance:
    """A time limit in seconds for several waits together; None is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._left = seconds

    @contextlib.asynccontextmanager
    async def spend(self) -> AsyncIterator[None]:
        """Raise TimeoutError when the limit is reached."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._left):
                yield
        finally:
            if self._left is not None:
                self._left -= loop.time() - began


class FairQueue:
    """For one event loop. A key is usually an account's id."""

    def __init__(
        self,
        slots: int,
        *,
        each: int,
        waiting: int = 256,
        waiting_each: int = 16,
        patience: float | None = 10.0,
        busy: str = "The service is busy. Try again in a moment.",
    ) -> None:
        """`slots`, `each`: how many run at once, in total and per key; `waiting`, `waiting_each`: how many may wait.

        `patience`: seconds until a waiting caller is refused; `busy`: the error message.
        """
        self._free = slots
        self._each = each
        self._waiting = waiting
        self._waiting_each = waiting_each
        self._patience = patience
        self._busy = busy
        self._running = Counter[Hashable]()
        self._lines: dict[Hashable, deque[asyncio.Future[None]]] = {}
        """In serving order. A key moves to the end when one of its jobs begins, and when one ends."""

    @contextlib.asynccontextmanager
    async def slot(self, key: Hashable, patience: Allowance | None = None) -> AsyncIterator[None]:
        """Raise Unavailable if too many callers wait, or when the time limit is reached."""
        if self._free and self._running[key] < self._each:  # no waiting caller could take this slot
            self._take(key)
        else:
            await self._wait(key, patience or Allowance(self._patience))
        try:
            yield
        finally:
            self._release(key)

    async def _wait(self, key: Hashable, patience: Allowance) -> None:
        """Return when a slot is taken."""
        line = self._lines.get(key, ())
        if len(line) >= self._waiting_each or sum(map(len, self._lines.values())) >= self._waiting:
            raise Unavailable(self._busy)
        place = asyncio.get_running_loop().create_future()
        self._lines.setdefault(key, deque()).append(place)
        try:
            async with patience.spend():
                await place
        except BaseException as error:
            if place.done() and not place.cancelled():  # served just before it was cancelled
                self._release(key)
            else:
                self._leave(key, place)
            if isinstance(error, TimeoutError):
                raise Unavailable(self._busy) from None
            raise

    def _take(self, key: Hashable) -> None:
        self._free -= 1
        self._running[key] += 1

    def _release(self, key: Hashable) -> None:
        self._free += 1
        self._running[key] -= 1
        if not self._running[key]:
            del self._running[key]
        if key in self._lines:
            self._lines[key] = self._lines.pop(key)
        self._serve()

    def _serve(self) -> None:
        while self._free:
            key = next((key for key in self._lines if self._running[key] < self._each), None)
            if key is None:
                return
            line = self._lines.pop(key)
            place = line.popleft()
            if line:
                self._lines[key] = line
            if not place.cancelled():
                self._take(key)
                place.set_result(None)

    def _leave(self, key: Hashable, place: asyncio.Future[None]) -> None:
        line = self._lines.get(key)
        if line is not None and place in line:
            line.remove(place)
            if not line:
                del self._lines[key]
