"""Runs the jobs of the job table, each by the handler of its name."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.worker import jobs
from waypost.worker.loop import LeasedQueue, LeaseLoop, reason_of
from waypost.worker.model import Job

AT_ONCE = 8

Handler = Callable[[Job], Awaitable[None]]
"""Does the job or raises; the error is kept with the job, and the job is tried again."""
Handlers = Mapping[str, Handler]

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class JobOutcome:
    job: Job
    error: str | None
    """None when the handler has done it."""


class JobRunner(LeasedQueue[Job, JobOutcome]):
    def __init__(self, handlers: Handlers, *, clock: Clock) -> None:
        self._handlers = handlers
        self._clock = clock
        self._name = f"{socket.gethostname()}:{os.getpid()}"

    async def is_due(self, tx: Tx, free: int) -> bool:  # noqa: ARG002
        return await jobs.is_due(tx, self._clock())

    async def claim(self, tx: Tx, free: int) -> list[Job]:
        return await jobs.claim(tx, clock=self._clock, limit=free, leased_by=self._name)

    async def run(self, claimed: Job) -> JobOutcome:
        handler = self._handlers.get(claimed.name)
        if handler is None:
            return JobOutcome(claimed, f"no handler is named {claimed.name}")
        try:
            async with asyncio.timeout(jobs.RUN_LIMIT.total_seconds()):
                await handler(claimed)
        except asyncio.CancelledError:
            _log.warning("job stopped", job=claimed.name, id=str(claimed.id))
            return JobOutcome(claimed, "the process was stopped while it ran")
        except Exception as error:  # noqa: BLE001  # a job's failure is a value: it is kept and the job is tried again
            event = "job timed out" if isinstance(error, TimeoutError) else "job failed"
            _log.warning(event, job=claimed.name, id=str(claimed.id), attempt=claimed.attempt, error=reason_of(error))
            return JobOutcome(claimed, reason_of(error))
        return JobOutcome(claimed, None)

    async def settle(self, tx: Tx, outcomes: Sequence[JobOutcome]) -> None:
        for each in outcomes:
            if each.error is None:
                await jobs.finish(tx, each.job)
            else:
                await jobs.fail(tx, each.job, each.error, now=self._clock())


def job_loop(db: Database, handlers: Handlers, *, clock: Clock, at_once: int = AT_ONCE) -> LeaseLoop[Job, JobOutcome]:
    return LeaseLoop(db, JobRunner(handlers, clock=clock), name="jobs", at_once=at_once)
