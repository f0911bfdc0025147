"""The worker's loops: `every` repeats a step, and a `WorkerLoop` works through a queue that all processes share.

No unexpected error ends them: it is logged once, and the work is retried.
"""

import asyncio
import contextlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

import structlog

from waypost.database import Database, Tx
from waypost.kit.errors import Unavailable

POLL_INTERVAL = 0.2  # seconds between two steps while a queue is empty
RETRY_INTERVAL = 1.0  # seconds between two attempts while a step fails, at least
_QUICK = 5.0  # seconds; an outage mostly shows within them
SHUTDOWN_TIMEOUT = 12.0  # seconds; the parent waits a little longer
_IN_FLIGHT_INTERVAL = 0.2  # seconds between two polls while attempts are in flight

_log = structlog.get_logger()


class HasId(Protocol):
    @property
    def id(self) -> UUID: ...


Step = Callable[[], Awaitable[bool]]
"""Does a short piece of work. Returns True if there is more: then it is called again immediately."""
ClaimT = TypeVar("ClaimT", bound=HasId)
OutcomeT = TypeVar("OutcomeT")


class QueueWorker(ABC, Generic[ClaimT, OutcomeT]):
    """Processes a queue in the database. An item is claimed for a limited time, its lease.

    No item is lost: when a process dies, its leases expire and the items are claimed again. An attempt that lost its
    lease must not change the item any more.
    """

    name: str
    max_concurrent: int
    """Maximum number of attempts in flight."""
    poll_interval = 0.0
    """Seconds between two calls of `is_due`."""
    shutdown_timeout = SHUTDOWN_TIMEOUT
    """Seconds that attempts in flight get to end when the process stops."""

    @abstractmethod
    async def is_due(self, tx: Tx) -> bool | None:
        """Return whether a claim would return anything, or None if only a limit that time lifts keeps it from that.

        Takes no write lock: mostly there is nothing to do.
        """

    @abstractmethod
    async def find_oldest_due(self, tx: Tx) -> datetime | None:
        """Return since when the longest waiting item is due. None if no item waits."""

    @abstractmethod
    async def claim(self, tx: Tx, free_slots: int) -> Sequence[ClaimT]:
        """Lease at most `free_slots` items."""

    @abstractmethod
    async def run(self, claimed: ClaimT) -> OutcomeT | None:
        """Make one attempt, outside of any transaction. None if there is nothing to settle."""

    @abstractmethod
    async def settle(self, tx: Tx, outcomes: Sequence[OutcomeT]) -> None:
        """Save the outcomes of attempts that still have their lease."""

    async def on_crash(self, claimed: ClaimT, error: Exception) -> OutcomeT | None:  # noqa: ARG002
        """Return the outcome of an attempt that raised an unexpected error. None: it is retried after its lease."""
        return None

    def on_commit(self, outcomes: Sequence[OutcomeT], claimed: Sequence[ClaimT]) -> None:
        """Called after the commit that settled `outcomes` and leased `claimed`."""


class WorkerLoop(Generic[ClaimT, OutcomeT]):
    """Settles ended attempts and claims due items in one transaction. Attempts run concurrently, outside of it."""

    def __init__(
        self,
        db: Database,
        worker: QueueWorker[ClaimT, OutcomeT],
        *,
        idle_interval: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`idle_interval`: seconds until an empty queue is read again if the database has not changed."""
        self.name = worker.name
        self._db = db
        self._worker = worker
        self._idle_interval = idle_interval
        self._monotonic = monotonic
        self._next_poll = -math.inf
        self._idle_version: object = None
        self._idle_until = -math.inf
        self._in_flight: set[asyncio.Task[None]] = set()
        self._outcomes: list[OutcomeT] = []
        self._has_ended = asyncio.Event()

    async def step(self) -> bool:
        """Return whether there was anything to do. Raises Unavailable; then outcomes are settled later."""
        is_due = not self._outcomes and await self._is_due()
        if is_due or self._outcomes:  # an attempt may have ended in the meantime
            await self._settle_and_claim()
        elif not self._in_flight:
            return False
        if self._in_flight:
            await _wait_for(self._has_ended, _IN_FLIGHT_INTERVAL)
        return True

    async def close(self) -> None:
        """Wait for the attempts in flight and settle them. Others are claimed again after their lease."""
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=self._worker.shutdown_timeout)
        for task in self._in_flight:
            task.cancel()
        await asyncio.gather(*self._in_flight, return_exceptions=True)
        try:
            if self._outcomes:
                async with self._db.write() as tx:
                    await self._worker.settle(tx, self._outcomes)
        except Unavailable as error:
            _log.warning("attempts not settled", queue=self.name, count=len(self._outcomes), error=error.message)
        else:
            settled, self._outcomes = self._outcomes, []
            self._worker.on_commit(settled, [])

    @property
    def _free_slots(self) -> int:
        return self._worker.max_concurrent - len(self._in_flight)

    async def _is_due(self) -> bool:
        now = self._monotonic()
        if self._free_slots <= 0 or now < self._next_poll:
            return False
        version = self._db.version()
        if version == self._idle_version and now < self._idle_until:
            return False
        self._next_poll = now + self._worker.poll_interval
        async with self._db.read() as tx:
            due = await self._worker.is_due(tx)
        if due is False:
            self._idle_version, self._idle_until = version, now + self._idle_interval
        return due is True

    async def _settle_and_claim(self) -> None:
        free_slots = self._free_slots
        outcomes, self._outcomes = self._outcomes, []
        self._has_ended.clear()
        try:
            async with self._db.write() as tx:
                if outcomes:
                    await self._worker.settle(tx, outcomes)
                claimed = await self._worker.claim(tx, free_slots) if free_slots > 0 else []
        except (Unavailable, asyncio.CancelledError):
            self._outcomes = outcomes + self._outcomes
            raise  # any other error would come back with the same outcomes: they are retried after their lease
        for item in claimed:
            task = asyncio.create_task(self._run(item), name=f"{self.name} {item.id}")
            self._in_flight.add(task)
            task.add_done_callback(self._in_flight.discard)
        if outcomes:
            self._next_poll = -math.inf  # slots have become free
        self._worker.on_commit(outcomes, claimed)

    async def _run(self, claimed: ClaimT) -> None:
        context = {"queue": self.name, "id": str(claimed.id)}
        try:
            try:
                outcome = await self._worker.run(claimed)
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001  # logged here once for all queues
                _log.exception("attempt failed unexpectedly", **context)
                outcome = await self._worker.on_crash(claimed, error)
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
    retry_on: type[Exception] = Unavailable,
) -> None:
    """Call `step` until `stop`: again immediately while it returns True, otherwise after `seconds`.

    Errors of the type `retry_on` are logged once, and their end is logged. All others are raised.
    """
    name, stop, wait = name or name_of(step), stop or asyncio.Event(), 0.0
    while not stop.is_set():
        began = time.monotonic()
        try:
            has_more = await step()
        except retry_on as error:
            if not wait:
                is_expected = isinstance(error, Unavailable)
                _log.error("step failed, retrying", step=name, error=reason_of(error), exc_info=not is_expected)
            wait = next_wait(error, wait, took=time.monotonic() - began, interval=seconds)
            await _wait_for(stop, wait)
            continue
        if wait:
            _log.info("step recovered", step=name)
        wait = 0.0
        await (asyncio.sleep(0) if has_more else _wait_for(stop, seconds))


def next_wait(error: Exception, latest: float, *, took: float, interval: float) -> float:
    """Return the seconds until a failed step is called again. `latest`: after its latest failure, 0 if it had none.

    The end of an outage is noticed soon. Other failures may repeat much work, such as a query that needs too much
    memory: each wait is longer, up to the interval of the step.
    """
    is_outage = isinstance(error, Unavailable) and took < _QUICK
    wait = max(RETRY_INTERVAL, took, 0.0 if is_outage else 2 * latest)
    return min(wait, max(RETRY_INTERVAL, interval))


async def cancel(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def name_of(step: Callable[..., Any]) -> str:
    """Return the name of a step for the log."""
    function = getattr(step, "func", step)  # a partial has no name
    return f"{function.__module__.removeprefix('waypost.')}.{function.__qualname__}"


def reason_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


async def _wait_for(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
