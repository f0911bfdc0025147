"""Verbs on the job table: enqueue in the caller's transaction, claim under a lease, settle.

Refuses to lose a job: a process that dies leaves a lease that runs out, and the next claim takes the job again.
A job that runs twice counts two attempts, because an attempt is counted when it is claimed, before anything happens.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, case, delete, exists, func, insert, literal, or_, select, update

from waypost.database import Tx
from waypost.kit.clock import Clock
from waypost.kit.ids import new_id
from waypost.worker.model import Job, jobs

LEASE = timedelta(seconds=60)
RUN_LIMIT = timedelta(seconds=50)  # below LEASE, so that a job never runs on after another process may claim it
_ERROR_LENGTH = 500
_LONGEST_WAIT = timedelta(hours=1)
_PRIVATE = "account.forgot", "mail.send"
"""Carry addresses, and links that let their bearer in: where they fail for good, the reason alone is kept."""


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
    """The job exists if and only if the caller's transaction commits. `payload`: any JSON value but null."""
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


async def is_due(tx: Tx, now: datetime) -> bool:
    return bool(await tx.scalar(select(exists().where(_due(now)))))


async def claim(tx: Tx, *, clock: Clock, limit: int, leased_by: str) -> list[Job]:
    """Lease up to `limit` due jobs, and end those whose last attempt was never settled."""
    now = clock()  # not before: waiting for the transaction would be taken off the lease
    await tx.execute(_end_unfinished(now))
    due = (
        select(jobs.c.id)
        .where(_due(now))
        .order_by(jobs.c.run_at)
        .limit(limit)
        .with_for_update(skip_locked=True)  # PostgreSQL; on SQLite the write transaction is alone anyway
        .cte("due")
    )
    lease = (
        update(jobs)
        .where(jobs.c.id.in_(select(due.c.id)))
        .values(attempts=jobs.c.attempts + 1, lease_until=now + LEASE, leased_by=leased_by)
        .returning(jobs)
    )
    return [
        Job(row.id, row.name, row.payload, row.account_id, row.attempts, row.max_attempts, row.leased_by)
        for row in await tx.execute(lease)
    ]


async def finish(tx: Tx, job: Job) -> None:
    await tx.execute(delete(jobs).where(_has_lease(job)))


async def fail(tx: Tx, job: Job, reason: str, *, now: datetime) -> None:
    """Schedule another attempt, or keep the job as failed after its last one."""
    is_last = job.attempt >= job.max_attempts
    outcome: dict[str, Any] = {"failed_at": now} if is_last else {"run_at": now + wait_after(job.attempt)}
    if is_last and job.name in _PRIVATE:
        outcome["payload"] = {}
    error = reason[:_ERROR_LENGTH].replace("\0", " ")  # PostgreSQL has no text with NUL
    await tx.execute(
        update(jobs).where(_has_lease(job)).values(lease_until=None, leased_by=None, error=error, **outcome)
    )


async def remove(tx: Tx, name: str, account_id: UUID) -> None:
    """All of one kind of an account, failed ones too."""
    await tx.execute(delete(jobs).where(jobs.c.name == name, jobs.c.account_id == account_id))


def wait_after(attempt: int) -> timedelta:
    """2 s, 8 s, 32 s, … an hour at most."""
    return min(_LONGEST_WAIT, timedelta(seconds=2 * 4 ** min(attempt - 1, 10)))


def _due(now: datetime) -> ColumnElement[bool]:
    unleased = or_(jobs.c.lease_until.is_(None), jobs.c.lease_until <= now)
    return and_(jobs.c.failed_at.is_(None), jobs.c.run_at <= now, unleased)


def _end_unfinished(now: datetime) -> Any:
    reason = func.coalesce(jobs.c.error, "the process ended while it ran the last attempt")
    kept = case((jobs.c.name.in_(_PRIVATE), literal({}, jobs.c.payload.type)), else_=jobs.c.payload)
    return (
        update(jobs)
        .where(_due(now), jobs.c.attempts >= jobs.c.max_attempts)
        .values(failed_at=now, lease_until=None, leased_by=None, error=reason, payload=kept)
    )


def _has_lease(job: Job) -> ColumnElement[bool]:
    """Whose lease ran out must not overwrite what a later attempt has come to."""
    return and_(jobs.c.id == job.id, jobs.c.attempts == job.attempt, jobs.c.leased_by == job.leased_by)
