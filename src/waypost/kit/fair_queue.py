"""A queue for resources that all accounts share: each account has its own queue, and free slots rotate among them.

No account can use all slots. Queues are short and waits are limited: a caller that cannot be served soon gets
`Busy` immediately and can try again.
"""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable

from waypost.kit.errors import Unavailable


class Busy(Unavailable):
    """The service is busy. Try again in a moment."""


class TimeBudget:
    """A time limit in seconds for several waits together. None: no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._left = seconds

    @contextlib.asynccontextmanager
    async def use(self) -> AsyncIterator[None]:
        """Count the time of the block. Raises TimeoutError when the limit is reached."""
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
        per_key: int,
        max_waiting: int = 256,
        max_waiting_per_key: int = 16,
        timeout: float | None = 10.0,
        busy_message: str | None = None,
    ) -> None:
        """`slots`, `per_key`: how many run concurrently, in total and per key.

        `max_waiting`, `max_waiting_per_key`: how many may wait; `timeout`: seconds until a waiting caller is refused.
        """
        self._free = slots
        self._per_key = per_key
        self._max_waiting = max_waiting
        self._max_waiting_per_key = max_waiting_per_key
        self._timeout = timeout
        self._busy_message = busy_message
        self._running = Counter[Hashable]()
        self._queues: dict[Hashable, deque[asyncio.Future[None]]] = {}
        """In the order of service. A key moves to the end when one of its slots is taken, and when one is released."""

    @property
    def running(self) -> int:
        """Number of slots in use."""
        return sum(list(self._running.values()))

    @property
    def waiting(self) -> int:
        """Number of callers that wait for a slot."""
        return sum(map(len, list(self._queues.values())))

    @contextlib.asynccontextmanager
    async def slot(self, key: Hashable, budget: TimeBudget | None = None) -> AsyncIterator[None]:
        """Hold a slot. Raises Busy if too many callers wait, or when the time limit is reached."""
        if self._free and self._running[key] < self._per_key:  # no waiting caller could take this slot
            self._take(key)
        else:
            await self._wait(key, budget or TimeBudget(self._timeout))
        try:
            yield
        finally:
            self._release(key)

    async def _wait(self, key: Hashable, budget: TimeBudget) -> None:
        """Wait until a slot is taken for this caller."""
        queue = self._queues.get(key, ())
        if len(queue) >= self._max_waiting_per_key or self.waiting >= self._max_waiting:
            raise Busy(self._busy_message)
        waiter = asyncio.get_running_loop().create_future()
        self._queues.setdefault(key, deque()).append(waiter)
        try:
            async with budget.use():
                await waiter
        except BaseException as error:
            if waiter.done() and not waiter.cancelled():  # it got a slot just before it was cancelled
                self._release(key)
            else:
                self._remove_waiter(key, waiter)
            if isinstance(error, TimeoutError):
                raise Busy(self._busy_message) from None
            raise

    def _take(self, key: Hashable) -> None:
        self._free -= 1
        self._running[key] += 1

    def _release(self, key: Hashable) -> None:
        self._free += 1
        self._running[key] -= 1
        if not self._running[key]:
            del self._running[key]
        if key in self._queues:
            self._queues[key] = self._queues.pop(key)
        self._wake_next()

    def _wake_next(self) -> None:
        while self._free:
            key = next((key for key in self._queues if self._running[key] < self._per_key), None)
            if key is None:
                return
            queue = self._queues.pop(key)
            waiter = queue.popleft()
            if queue:
                self._queues[key] = queue
            if not waiter.cancelled():
                self._take(key)
                waiter.set_result(None)

    def _remove_waiter(self, key: Hashable, waiter: asyncio.Future[None]) -> None:
        queue = self._queues.get(key)
        if queue is not None and waiter in queue:
            queue.remove(waiter)
            if not queue:
                del self._queues[key]
