"""Works through the queue: one transaction settles what has ended and claims what is due; requests run beside it."""

import asyncio
import contextlib
import math
import time
from collections.abc import Callable
from datetime import timedelta

import structlog

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.errors import Unavailable
from waypost.resources.pixels.events import queue
from waypost.resources.pixels.events.attempt import DEADLINE, Sender
from waypost.resources.pixels.events.queue import Claimed, Settled

LEASE = timedelta(seconds=DEADLINE + 20)  # to settle it, even in a short outage
_LOOK = 1.0  # seconds between two looks for what has become due: events wait for some seconds anyway
_WAIT = 0.2  # seconds that a step waits for requests under way

log = structlog.get_logger(__name__)


class EventSender:
    """A poller."""

    def __init__(
        self, db: Database, sender: Sender, *, clock: Clock, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._db = db
        self._sender = sender
        self._clock = clock
        self._monotonic = monotonic
        self._next_look = -math.inf
        self._under_way: set[asyncio.Task[None]] = set()
        self._outcomes: list[Settled] = []
        self._news = asyncio.Event()

    async def step(self) -> bool:
        """False when there was nothing to do. Raises Unavailable; then what has ended is settled later."""
        is_due = await self._is_due()
        if is_due or self._outcomes:
            await self._settle_and_begin()
        elif not self._under_way:
            return False
        await self._wait_for_news()
        return True

    async def close(self) -> None:
        """Waits for the requests under way, and settles them; what cannot be is claimed again after its lease."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=DEADLINE + 1)
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        try:
            if self._outcomes:
                async with self._db.write() as tx:
                    await queue.lock(tx)
                    await queue.settle(tx, self._outcomes)
        except Unavailable as error:
            log.warning("pixel events not settled", requests=len(self._outcomes), error=error.message)

    async def _is_due(self) -> bool:
        now = self._monotonic()
        if now < self._next_look:
            return False
        self._next_look = now + _LOOK
        async with self._db.read() as tx:
            return bool(await queue.due(tx, self._clock()))

    async def _settle_and_begin(self) -> None:
        outcomes, self._outcomes = self._outcomes, []
        self._news.clear()
        try:
            async with self._db.write() as tx:
                await queue.lock(tx)
                await queue.settle(tx, outcomes)
                claimed = await queue.claim(tx, now=self._clock(), lease=LEASE)
        except BaseException:
            self._outcomes = outcomes + self._outcomes
            raise
        for each in claimed:
            task = asyncio.create_task(self._run(each))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _run(self, claimed: Claimed) -> None:
        try:
            outcome = await self._sender.attempt(claimed)
        except Unavailable as error:
            log.warning("pixel events not sent", pixel=str(claimed.pixel_id), error=error.message)
            return
        self._outcomes.append(outcome)
        self._news.set()

    async def _wait_for_news(self) -> None:
        if self._under_way:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_WAIT):
                    await self._news.wait()
