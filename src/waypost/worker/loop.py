"""Runs pollers until told to stop: the job runner and whatever else works through a backlog.

Refuses to die of one bad step: an outage is logged once, waited out and logged again when it is over.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Sequence
from typing import Protocol

import structlog

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.errors import Unavailable
from waypost.worker import integrity, jobs
from waypost.worker.model import Job

IDLE = 0.2  # seconds between two looks at an empty backlog
OUTAGE = 1.0  # seconds between two tries while a step fails
DRAIN = 12.0  # seconds that running jobs get after the stop

_log = structlog.get_logger()


class Poller(Protocol):
    async def step(self) -> bool:
        """Does a short piece of work. True: there was some, call again at once."""


class Worker:
    def __init__(
        self,
        db: Database,
        handlers: jobs.Handlers,
        *,
        clock: Clock,
        pollers: Sequence[Poller] = (),
        at_once: int = 8,
    ) -> None:
        self._db = db
        self._runner = JobRunner(db, handlers, clock=clock, at_once=at_once)
        self._pollers = [self._runner, *pollers]

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`: then every step under way is finished, nothing new is claimed, running jobs are waited for."""
        async with asyncio.TaskGroup() as group:
            group.create_task(integrity.check(self._db, stop))
            for poller in self._pollers:
                group.create_task(poll(poller, stop))
        await self._runner.drain()


async def poll(poller: Poller, stop: asyncio.Event) -> None:
    name = type(poller).__name__
    is_out = False
    while not stop.is_set():
        try:
            more = await poller.step()
        except Exception as error:  # noqa: BLE001  # whatever a step raises, the next one may succeed
            if not is_out:
                _log.error("outage", poller=name, error=_reason(error), exc_info=not isinstance(error, Unavailable))
            is_out = True
            await _pause(OUTAGE, stop)
            continue
        if is_out:
            _log.info("outage over", poller=name)
        is_out = False
        await (asyncio.sleep(0) if more else _pause(IDLE, stop))


class JobRunner:
    """The poller of the job table."""

    def __init__(self, db: Database, handlers: jobs.Handlers, *, clock: Clock, at_once: int) -> None:
        self._db = db
        self._handlers = handlers
        self._clock = clock
        self._at_once = at_once
        self._running: set[asyncio.Task[None]] = set()
        self._name = f"{socket.gethostname()}:{os.getpid()}"

    async def step(self) -> bool:
        free = self._at_once - len(self._running)
        if free == 0:
            await asyncio.wait(self._running, timeout=IDLE, return_when=asyncio.FIRST_COMPLETED)
            return True
        claimed = await jobs.claim(self._db, clock=self._clock, limit=free, leased_by=self._name)
        for job in claimed:
            task = asyncio.create_task(self._work(job), name=job.name)
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return bool(claimed)

    async def drain(self) -> None:
        """A job that does not end in time is cancelled and tried again by the next process."""
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=DRAIN)
        for task in late:
            _log.warning("job cut off", job=task.get_name())
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _work(self, job: Job) -> None:
        reason = await self._try(job)
        # Whatever could not be noted down because the database is gone is claimed again when the lease has run out.
        try:
            if reason is None:
                await jobs.finish(self._db, job)
            else:
                await jobs.fail(self._db, job, reason, now=self._clock())
        except Unavailable as error:
            _log.warning("job not settled", job=job.name, id=str(job.id), error=_reason(error))

    async def _try(self, job: Job) -> str | None:
        """None when the handler has done it, else why not."""
        handler = self._handlers.get(job.name)
        if handler is None:
            return f"no handler is named {job.name}"
        try:
            async with asyncio.timeout(jobs.RUN_LIMIT.total_seconds()):
                await handler(job)
        except asyncio.CancelledError:
            return "the process was stopped while it ran"
        except Exception as error:  # noqa: BLE001  # a job's failure is a value: it is kept and the job tried again
            _log.warning("job failed", job=job.name, id=str(job.id), attempt=job.attempt, error=_reason(error))
            return _reason(error)
        return None


async def _pause(seconds: float, stop: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
