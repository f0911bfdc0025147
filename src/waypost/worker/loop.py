"""The worker's loops: `every` repeats a step, and a `LeaseLoop` works through a queue that all processes share.

No unexpected error ends them: it is logged once, and the work is tried again.
"""

import asyncio
import contextlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

import structlog

from waypost.database import Database, Tx
from waypost.kit.errors import Unavailable

IDLE = 0.2  # seconds between two steps of a queue that is empty
OUTAGE = 1.0  # seconds between two tries while a step fails
GRACE = 12.0  # seconds; the parent waits a little longer
_WAIT = 0.2  # seconds until a loop with attempts in flight looks again for items that became due

_log = structlog.get_logger()


class HasId(Protocol):
    @property
    def id(self) -> UUID: ...


Step = Callable[[], Awaitable[bool]]
"""Does a short piece of work. True: there is more, it is called again at once."""
ClaimT = TypeVar("ClaimT", bound=HasId)
OutcomeT = TypeVar("OutcomeT")


class LeasedQueue(ABC, Generic[ClaimT, OutcomeT]):
    """A queue in the database. An item is claimed for a limited time, its lease.

    No item is lost: when a process dies, its leases expire and the items are claimed again. An attempt that lost its
    lease must not change the item any more.
    """

    name: str
    at_once: int
    """Attempts in flight at most."""
    look_every = 0.0
    """Seconds between two looks for what is due."""
    grace = GRACE
    """Seconds that attempts in flight get at the end."""

    @abstractmethod
    async def is_due(self, tx: Tx, free: int) -> bool:
        """Whether a claim would return anything. Takes no write lock: mostly there is nothing to do."""

    @abstractmethod
    async def claim(self, tx: Tx, free: int) -> Sequence[ClaimT]:
        """Lease at most `free` items."""

    @abstractmethod
    async def run(self, claimed: ClaimT) -> OutcomeT | None:
        """One attempt, outside of any transaction. None leaves nothing to settle."""

    @abstractmethod
    async def settle(self, tx: Tx, outcomes: Sequence[OutcomeT]) -> None:
        """Save the outcomes of attempts that still have their lease."""

    async def crashed(self, claimed: ClaimT, error: Exception) -> OutcomeT | None:  # noqa: ARG002
        """The outcome of an attempt that raised an unexpected error. None: it is tried again after its lease."""
        return None

    def committed(self, outcomes: Sequence[OutcomeT], claimed: Sequence[ClaimT]) -> None:
        """Called after the commit of what was settled and claimed."""


class LeaseLoop(Generic[ClaimT, OutcomeT]):
    """One transaction settles what has ended and claims what is due. Attempts run outside of it, side by side."""

    def __init__(
        self, db: Database, queue: LeasedQueue[ClaimT, OutcomeT], *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = queue.name
        self._db = db
        self._queue = queue
        self._monotonic = monotonic
        self._next_look = -math.inf
        self._in_flight: set[asyncio.Task[None]] = set()
        self._outcomes: list[OutcomeT] = []
        self._has_ended = asyncio.Event()

    async def step(self) -> bool:
        """False when there was nothing to do. Raises Unavailable; then outcomes are settled later."""
        is_due = not self._outcomes and await self._is_due()
        if is_due or self._outcomes:  # an attempt may have ended meanwhile
            await self._settle_and_claim()
        elif not self._in_flight:
            return False
        if self._in_flight:
            await _wait_for(self._has_ended, _WAIT)
        return True

    async def close(self) -> None:
        """Wait for the attempts in flight and settle them. The rest is claimed again after its lease."""
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=self._queue.grace)
        for task in self._in_flight:
            task.cancel()
        await asyncio.gather(*self._in_flight, return_exceptions=True)
        try:
            if self._outcomes:
                async with self._db.write() as tx:
                    await self._queue.settle(tx, self._outcomes)
        except Unavailable as error:
            _log.warning("attempts not settled", queue=self.name, count=len(self._outcomes), error=error.message)
        else:
            settled, self._outcomes = self._outcomes, []
            self._queue.committed(settled, [])

    async def _is_due(self) -> bool:
        free, now = self._queue.at_once - len(self._in_flight), self._monotonic()
        if free <= 0 or now < self._next_look:
            return False
        self._next_look = now + self._queue.look_every
        async with self._db.read() as tx:
            return await self._queue.is_due(tx, free)

    async def _settle_and_claim(self) -> None:
        free = self._queue.at_once - len(self._in_flight)
        outcomes, self._outcomes = self._outcomes, []
        self._has_ended.clear()
        try:
            async with self._db.write() as tx:
                if outcomes:
                    await self._queue.settle(tx, outcomes)
                claimed = await self._queue.claim(tx, free) if free > 0 else []
        except (Unavailable, asyncio.CancelledError):
            self._outcomes = outcomes + self._outcomes
            raise  # any other error would come back with the same outcomes: they are attempted again after their lease
        for each in claimed:
            task = asyncio.create_task(self._run(each), name=f"{self.name} {each.id}")
            self._in_flight.add(task)
            task.add_done_callback(self._in_flight.discard)
        if outcomes:
            self._next_look = -math.inf  # there are free places again
        self._queue.committed(outcomes, claimed)

    async def _run(self, claimed: ClaimT) -> None:
        context = {"queue": self.name, "id": str(claimed.id)}
        try:
            try:
                outcome = await self._queue.run(claimed)
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001  # logged here once for all queues
                _log.exception("attempt failed unexpectedly", **context)
                outcome = await self._queue.crashed(claimed, error)
        except Unavailable as error:
            _log.warning("attempt not finished", **context, error=error.message)
            return
        if outcome is not None:
            self._outcomes.append(outcome)
            self._has_ended.set()


async def every(
    seconds: float,
    step: Callable[[], Awaitable[bool | None]],
    *,
    name: str = "",
    stop: asyncio.Event | None = None,
    survives: type[Exception] = Unavailable,
) -> None:
    """Call `step` until `stop`: at once again while it returns True, otherwise after `seconds`.

    Errors of the type `survives` are logged once, and again when they are over. All others are raised.
    """
    name, stop, is_out = name or name_of(step), stop or asyncio.Event(), False
    while not stop.is_set():
        try:
            has_more = await step()
        except survives as error:
            if not is_out:
                is_expected = isinstance(error, Unavailable)
                _log.error("outage", step=name, error=reason_of(error), exc_info=not is_expected)
            is_out = True
            await _wait_for(stop, OUTAGE)
            continue
        if is_out:
            _log.info("outage over", step=name)
        is_out = False
        await (asyncio.sleep(0) if has_more else _wait_for(stop, seconds))


async def cancel(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def name_of(step: Callable[..., Any]) -> str:
    """For the log."""
    function = getattr(step, "func", step)  # of a partial
    return f"{function.__module__.removeprefix('waypost.')}.{function.__qualname__}"


def reason_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


async def _wait_for(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
