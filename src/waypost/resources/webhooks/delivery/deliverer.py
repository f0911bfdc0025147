"""Works through the queue: one transaction settles what has ended and claims what is due, and attempts run beside it.

Under load the outcomes that come in while one transaction commits are settled together in the next.
"""

import asyncio
import contextlib
from datetime import timedelta

import structlog

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.errors import Unavailable
from waypost.resources.webhooks.delivery import metrics, queue
from waypost.resources.webhooks.delivery.attempt import Sender
from waypost.resources.webhooks.delivery.pace import Pace
from waypost.resources.webhooks.delivery.queue import Claimed, Settled

AT_ONCE = 256
_WAIT = 0.2  # seconds until it looks again for what has become due, while attempts are under way
_MARGIN = 20.0  # seconds by which a lease outlasts an attempt: to settle it, even in a short outage
_LAST_WAIT = 12.0  # seconds that attempts under way get at the end, which the parent grants

log = structlog.get_logger(__name__)


class Deliverer:
    def __init__(
        self,
        db: Database,
        sender: Sender,
        *,
        clock: Clock,
        timeout: float,
        at_once: int = AT_ONCE,
        pace: Pace | None = None,
    ) -> None:
        self._db = db
        self._sender = sender
        self._clock = clock
        self._timeout = timeout
        self._lease = timedelta(seconds=timeout + _MARGIN)
        self._at_once = at_once
        self._pace = pace or Pace()
        self._under_way: set[asyncio.Task[None]] = set()
        self._outcomes: list[Settled] = []
        self._news = asyncio.Event()

    async def step(self) -> bool:
        """False when there was nothing to do. Raises Unavailable; then what has ended is settled later."""
        if not self._outcomes and not await self._is_due():
            if not self._under_way:
                return False
            await self._wait_for_news()
            return True
        await self._settle_and_begin()
        await self._wait_for_news()
        return True

    async def close(self) -> None:
        """Waits for the attempts under way, and settles them; what cannot be is claimed again after its lease."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=min(self._timeout + 1, _LAST_WAIT))
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        try:
            await self._settle()
        except Unavailable as error:
            log.warning("deliveries not settled", count=len(self._outcomes), error=error.message)

    async def _is_due(self) -> bool:
        if len(self._under_way) >= self._at_once:
            return False
        async with self._db.read() as tx:
            return await queue.is_due(tx, self._clock(), self._pace)

    async def _settle_and_begin(self) -> None:
        free = self._at_once - len(self._under_way)
        outcomes, self._outcomes = self._outcomes, []
        self._news.clear()
        try:
            async with self._db.write() as tx:
                await queue.lock(tx)
                if outcomes:
                    await queue.settle(tx, outcomes)
                claimed = await queue.claim(tx, clock=self._clock, lease=self._lease, limit=free, pace=self._pace)
        except BaseException:
            self._outcomes = outcomes + self._outcomes
            raise
        for each in claimed:
            self._begin(each)
        metrics.settled(outcomes)
        metrics.claimed(claimed, self._clock())

    async def _settle(self) -> None:
        if self._outcomes:
            async with self._db.write() as tx:
                await queue.lock(tx)
                await queue.settle(tx, self._outcomes)
            settled, self._outcomes = self._outcomes, []
            metrics.settled(settled)

    def _begin(self, claimed: Claimed) -> None:
        self._pace.begun(claimed.target)
        task = asyncio.create_task(self._run(claimed))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _run(self, claimed: Claimed) -> None:
        outcome = await self._sender.attempt(claimed)
        self._pace.note(claimed.target, succeeded=outcome.status == "delivered")
        self._outcomes.append(outcome)
        self._news.set()

    async def _wait_for_news(self) -> None:
        """Of an attempt that has ended; what becomes due meanwhile is seen to a moment later."""
        if self._under_way:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_WAIT):
                    await self._news.wait()
