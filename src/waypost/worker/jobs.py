"""The job queue: `enqueue` adds a job in the caller's transaction, and the worker runs it by the handler of its name.

An attempt is counted when the job is claimed, before anything happens: a job that runs twice has two attempts.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import ColumnElement, Update, and_, case, delete, exists, func, insert, literal, or_, select, update

from waypost.database import Database, Tx
from waypost.kit.clock import Clock
from waypost.kit.ids import new_id
from waypost.worker.loop import LeasedQueue, LeaseLoop, reason_of
from waypost.worker.model import Job, jobs

Handler = Callable[[Job], Awaitable[None]]
"""Does the job or raises; the error is kept with the job, and the job is tried again."""
Handlers = Mapping[str, Handler]

AT_ONCE = 8
LEASE = timedelta(seconds=60)
RUN_LIMIT = timedelta(seconds=50)  # below LEASE, so that a job has ended before another process may claim it
_ERROR_LENGTH = 500
_LONGEST_WAIT = timedelta(hours=1)
_PRIVATE = "account.forgot", "mail.send"
"""Their payloads hold email addresses and sign-in links: of a job that failed for good only the error is kept."""

_log = structlog.get_logger(__name__)


async def enqueue(
    tx: Tx,
    name: str,
    payload: Any,
    *,
    now: datetime,
    run_at: datetime | None = None,
    account_id: UUID | None = None,
    max_attempts: int = 8,
) -> UUID:
    """The job exists if and only if the caller's transaction commits. `payload`: any JSON value except null."""
    job_id = new_id()
    row = {
        "id": job_id,
        "name": name,
        "payload": payload,
        "account_id": account_id,
        "run_at": run_at or now,
        "attempts": 0,
        "max_attempts": max_attempts,
        "created_at": now,
    }
    await tx.execute(insert(jobs).values(row))
    return job_id


@dataclass(frozen=True, slots=True)
class Backlog:
    pending: int
    oldest: datetime | None
    """When the first pending job is or was due."""
    failed: int


async def backlog(tx: Tx) -> Backlog:
    pending = select(func.count(), func.min(jobs.c.run_at)).where(jobs.c.failed_at.is_(None))
    failed = select(func.count()).where(jobs.c.failed_at.is_not(None))
    count, oldest = (await tx.execute(pending)).one()
    return Backlog(count, oldest, (await tx.execute(failed)).scalar_one())


async def remove(tx: Tx, name: str, account_id: UUID) -> None:
    """Remove all jobs of this name and account, failed ones too."""
    await tx.execute(delete(jobs).where(jobs.c.name == name, jobs.c.account_id == account_id))


@dataclass(frozen=True, slots=True)
class JobOutcome:
    job: Job
    error: str | None
    """None when the handler has done it."""


class JobRunner(LeasedQueue[Job, JobOutcome]):
    def __init__(self, handlers: Handlers, *, clock: Clock, name: str = "") -> None:
        self._handlers = handlers
        self._clock = clock
        self._name = name or f"{socket.gethostname()}:{os.getpid()}"

    async def is_due(self, tx: Tx, free: int) -> bool:  # noqa: ARG002
        return bool(await tx.scalar(select(exists().where(_due(self._clock())))))

    async def claim(self, tx: Tx, free: int) -> list[Job]:
        """Also ends jobs whose last attempt was never settled."""
        now = self._clock()
        await tx.execute(_end_unsettled(now))
        due = (
            select(jobs.c.id)
            .where(_due(now))
            .order_by(jobs.c.run_at)
            .limit(free)
            .with_for_update(skip_locked=True)  # PostgreSQL; on SQLite the write transaction is alone anyway
            .cte("due")
        )
        lease = (
            update(jobs)
            .where(jobs.c.id.in_(select(due.c.id)))
            .values(attempts=jobs.c.attempts + 1, lease_until=now + LEASE, leased_by=self._name)
            .returning(jobs)
        )
        return [
            Job(row.id, row.name, row.payload, row.account_id, row.attempts, row.max_attempts, row.leased_by)
            for row in await tx.execute(lease)
        ]

    async def run(self, claimed: Job) -> JobOutcome:
        handler = self._handlers.get(claimed.name)
        if handler is None:
            return JobOutcome(claimed, f"no handler is named {claimed.name}")
        context = {"job": claimed.name, "id": str(claimed.id), "attempt": claimed.attempt}
        try:
            async with asyncio.timeout(RUN_LIMIT.total_seconds()):
                await handler(claimed)
        except asyncio.CancelledError:
            _log.warning("job stopped", **context)
            return JobOutcome(claimed, "the process was stopped while it ran")
        except Exception as error:  # noqa: BLE001  # a job's failure is a value: it is kept and the job is tried again
            event = "job timed out" if isinstance(error, TimeoutError) else "job failed"
            _log.warning(event, **context, error=reason_of(error))
            return JobOutcome(claimed, reason_of(error))
        return JobOutcome(claimed, None)

    async def settle(self, tx: Tx, outcomes: Sequence[JobOutcome]) -> None:
        for each in outcomes:
            done = delete(jobs).where(_has_lease(each.job))
            await tx.execute(done if each.error is None else self._failed(each.job, each.error))

    def _failed(self, job: Job, error: str) -> Update:
        """Another attempt later. After the last one the row stays, with the error."""
        now, is_last = self._clock(), job.attempt >= job.max_attempts
        values: dict[str, Any] = {"failed_at": now} if is_last else {"run_at": now + wait_after(job.attempt)}
        if is_last and job.name in _PRIVATE:
            values["payload"] = {}
        values["error"] = error[:_ERROR_LENGTH].replace("\0", " ")  # PostgreSQL has no text with NUL
        return update(jobs).where(_has_lease(job)).values(lease_until=None, leased_by=None, **values)


def job_loop(db: Database, handlers: Handlers, *, clock: Clock, at_once: int = AT_ONCE) -> LeaseLoop[Job, JobOutcome]:
    return LeaseLoop(db, JobRunner(handlers, clock=clock), name="jobs", at_once=at_once)


def wait_after(attempt: int) -> timedelta:
    """2 s, 8 s, 32 s, … an hour at most."""
    return min(_LONGEST_WAIT, timedelta(seconds=2 * 4 ** min(attempt - 1, 10)))


def _due(now: datetime) -> ColumnElement[bool]:
    unleased = or_(jobs.c.lease_until.is_(None), jobs.c.lease_until <= now)
    return and_(jobs.c.failed_at.is_(None), jobs.c.run_at <= now, unleased)


def _end_unsettled(now: datetime) -> Update:
    reason = func.coalesce(jobs.c.error, "the process ended while it ran the last attempt")
    kept = case((jobs.c.name.in_(_PRIVATE), literal({}, jobs.c.payload.type)), else_=jobs.c.payload)
    return (
        update(jobs)
        .where(_due(now), jobs.c.attempts >= jobs.c.max_attempts)
        .values(failed_at=now, lease_until=None, leased_by=None, error=reason, payload=kept)
    )


def _has_lease(job: Job) -> ColumnElement[bool]:
    """An attempt that lost its lease must not overwrite the outcome of a later one."""
    return and_(jobs.c.id == job.id, jobs.c.attempts == job.attempt, jobs.c.leased_by == job.leased_by)
