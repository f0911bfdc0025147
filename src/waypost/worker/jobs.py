"""The job queue: `enqueue` adds a job in the caller's transaction, and the worker runs it by the handler of its name.

An attempt is counted when the job is claimed, before it runs: a job that runs twice has two attempts. So is a death,
until the attempt is settled: a job whose process has died some times in a row is not tried again.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import (
    Column,
    ColumnElement,
    Index,
    Integer,
    Table,
    Text,
    case,
    exists,
    func,
    literal,
    select,
    true,
    tuple_,
)

from waypost.database import Id, Instant, Json, Tx, metadata
from waypost.kit.clock import Clock
from waypost.kit.ids import new_id
from waypost.worker.loop import QueueWorker, reason_of

jobs = Table(
    "jobs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("payload", Json, nullable=False),
    Column("account_id", Id),
    Column("run_at", Instant, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("lease_until", Instant),
    Column("leased_by", Text),
    Column("error", Text),
    Column("failed_at", Instant),
    Column("created_at", Instant, nullable=False),
    Column("deaths", Integer, nullable=False, server_default="0"),  # attempts in a row that nobody has settled
)
Index(
    "ix_jobs_waiting",
    jobs.c.run_at,
    sqlite_where=jobs.c.failed_at.is_(None),
    postgresql_where=jobs.c.failed_at.is_(None),
)


_JOB = tuple(jobs.c[name] for name in ("id", "name", "payload", "account_id", "attempts", "max_attempts", "leased_by"))


@dataclass(frozen=True, slots=True)
class Job:
    id: UUID
    name: str
    """`package.verb`"""
    payload: Any
    account_id: UUID | None
    attempt: int
    """Starts at 1."""
    max_attempts: int
    leased_by: str


Handler = Callable[[Job], Awaitable[None]]
"""Does the job or raises; the error is stored with the job, and the job is retried."""
Handlers = Mapping[str, Handler]
Stop = Callable[[Tx, Job], Awaitable[None]]
"""Saves that a job is not tried again, in the transaction that ends it."""


class ProcessDied(Exception):
    """The process that a handler has started for the job died. Counts like the death of the worker."""


MAX_DEATHS = 3

LEASE = timedelta(seconds=60)
RUN_LIMIT = timedelta(seconds=50)  # below LEASE, so that a job has ended before another process may claim it
_MAX_ERROR = 500
_MAX_DELAY = timedelta(hours=1)
_PRIVATE = "auth.send_password_reset", "mail.send"
"""Their payloads contain email addresses and sign-in links: of a job that failed permanently only the error is kept."""

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
    """Add a job in the caller's transaction. `payload`: any JSON value except null."""
    job_id = new_id()
    row = {"id": job_id, "name": name, "payload": payload, "account_id": account_id, "created_at": now}
    attempts = {"run_at": run_at or now, "attempts": 0, "max_attempts": max_attempts}
    await tx.execute(jobs.insert().values(row | attempts))
    return job_id


@dataclass(frozen=True, slots=True)
class Backlog:
    pending: int
    oldest: datetime | None
    """When the first pending job is or was due."""
    failed: int


async def read_backlog(tx: Tx) -> Backlog:
    pending_query = select(func.count(), func.min(jobs.c.run_at)).where(jobs.c.failed_at.is_(None))
    failed_query = select(func.count()).where(jobs.c.failed_at.is_not(None))
    pending, oldest = (await tx.execute(pending_query)).one()
    return Backlog(pending, oldest, (await tx.execute(failed_query)).scalar_one())


async def delete_jobs(tx: Tx, name: str, account_id: UUID) -> None:
    """Delete all jobs of this name and account, including failed ones."""
    await tx.execute(jobs.delete().where(jobs.c.name == name, jobs.c.account_id == account_id))


@dataclass(frozen=True, slots=True)
class JobOutcome:
    job: Job
    error: str | None
    """None if the handler has done it."""
    is_death: bool = False


class JobRunner(QueueWorker[Job, JobOutcome]):
    name = "jobs"
    max_concurrent = 8

    def __init__(
        self,
        handlers: Handlers,
        *,
        clock: Clock,
        excluded: Collection[str] = (),
        stops: Mapping[str, Stop] | None = None,
    ) -> None:
        """`excluded`: names that another runner handles; `stops`: by name of the job."""
        self._handlers = handlers
        self._stops = stops or {}
        self._clock = clock
        self._is_ours = jobs.c.name.not_in(excluded) if excluded else true()
        self.names = frozenset(handlers)
        self.worker = f"{socket.gethostname()}:{os.getpid()}"

    async def is_due(self, tx: Tx) -> bool:
        now = self._clock()
        query = select(jobs.c.id).where(self._where_due(now), self._is_claimable(now))
        return await tx.scalar(query.limit(1)) is not None

    async def find_oldest_due(self, tx: Tx) -> datetime | None:
        since: datetime | None = await tx.scalar(select(func.min(jobs.c.run_at)).where(self._where_due(self._clock())))
        return since

    async def claim(self, tx: Tx, free_slots: int) -> list[Job]:
        """Lease due jobs, and end jobs whose last attempt was never settled."""
        now = self._clock()
        await self._end_unsettled(tx, now)
        due = (
            select(jobs.c.id)
            .where(self._where_due(now), self._is_claimable(now))
            .order_by(jobs.c.run_at)
            .limit(free_slots)
            .with_for_update(skip_locked=True)  # on PostgreSQL; SQLite has one writer
            .cte("due")
        )
        statement = (
            jobs.update()
            .where(jobs.c.id.in_(select(due.c.id)))
            .values(
                attempts=jobs.c.attempts + 1, deaths=jobs.c.deaths + 1, lease_until=now + LEASE, leased_by=self.worker
            )
            .returning(*_JOB)
        )
        return [Job(*row) for row in await tx.execute(statement)]

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
        except ProcessDied as error:
            _log.warning("process of a job died", **context, error=str(error))
            return JobOutcome(claimed, str(error), is_death=True)
        except Exception as error:  # noqa: BLE001  # a job's failure is a value: it is stored, and the job is retried
            event = "job timed out" if isinstance(error, TimeoutError) else "job failed"
            _log.warning(event, **context, error=reason_of(error))
            return JobOutcome(claimed, reason_of(error))
        return JobOutcome(claimed, None)

    async def settle(self, tx: Tx, outcomes: Sequence[JobOutcome]) -> None:
        for outcome in outcomes:
            if outcome.error is None:
                await tx.execute(jobs.delete().where(_where_leased(outcome.job)))
            else:
                await self._save_failure(tx, outcome.job, outcome.error, is_death=outcome.is_death)

    async def _save_failure(self, tx: Tx, job: Job, error: str, *, is_death: bool) -> None:
        """Schedule another attempt. After the last one, keep the row with the error."""
        now, is_last = self._clock(), job.attempt >= job.max_attempts
        values: dict[str, Any] = {"failed_at": now} if is_last else {"run_at": now + wait_after(job.attempt)}
        if is_last and job.name in _PRIVATE:
            values["payload"] = {}
        if not is_death:
            values["deaths"] = 0
        values["error"] = error[:_MAX_ERROR].replace("\0", " ")  # PostgreSQL has no text with NUL
        await tx.execute(jobs.update().where(_where_leased(job)).values(lease_until=None, leased_by=None, **values))

    def _where_due(self, now: datetime) -> ColumnElement[bool]:
        is_unleased = jobs.c.lease_until.is_(None) | (jobs.c.lease_until <= now)
        return jobs.c.failed_at.is_(None) & (jobs.c.run_at <= now) & is_unleased & self._is_ours

    def _is_claimable(self, now: datetime) -> ColumnElement[bool]:  # noqa: ARG002  # see LongJobRunner
        return true()

    async def _end_unsettled(self, tx: Tx, now: datetime) -> None:
        is_deadly = jobs.c.deaths >= MAX_DEATHS
        died = f"stopped: the process died {MAX_DEATHS} times while it ran, as it does if it needs too much memory"
        ended_early = func.coalesce(jobs.c.error, "the process ended while it ran the last attempt")
        reason = case((is_deadly, died), else_=ended_early)
        payload = case((jobs.c.name.in_(_PRIVATE), literal({}, jobs.c.payload.type)), else_=jobs.c.payload)
        ended = {"failed_at": now, "lease_until": None, "leased_by": None, "error": reason, "payload": payload}
        is_over = is_deadly | (jobs.c.attempts >= jobs.c.max_attempts)
        statement = jobs.update().where(self._where_due(now), is_over).values(ended).returning(*_JOB)
        for row in await tx.execute(statement):
            job = Job(*row)
            _log.warning("job stopped, because its process died", job=job.name, id=str(job.id), attempt=job.attempt)
            if stop := self._stops.get(job.name):
                await stop(tx, job)


class LongJobRunner(JobRunner):
    """Runs jobs that take up to half a minute and that accounts can start. Mail does not wait for them.

    An account has one job of each name at a time.
    """

    name = "long_jobs"
    max_concurrent = 6
    poll_interval = 1.0

    def __init__(self, handlers: Handlers, *, clock: Clock, stops: Mapping[str, Stop] | None = None) -> None:
        super().__init__(handlers, clock=clock, stops=stops)
        self._is_ours = jobs.c.name.in_(handlers)

    def _is_claimable(self, now: datetime) -> ColumnElement[bool]:
        """The oldest due job of its account and name, of which none runs."""
        other = jobs.alias()
        comes_first = tuple_(other.c.run_at, other.c.id) < tuple_(jobs.c.run_at, jobs.c.id)
        is_running = other.c.lease_until > now
        is_before = (
            (other.c.name == jobs.c.name)
            & (other.c.account_id == jobs.c.account_id)
            & (is_running | (comes_first & other.c.failed_at.is_(None)))
        )
        return ~exists().where(is_before, other.c.id != jobs.c.id)


def wait_after(attempt: int) -> timedelta:
    """Return the delay after an attempt: 2 s, 8 s, 32 s, … at most an hour."""
    return min(_MAX_DELAY, timedelta(seconds=2 * 4 ** min(attempt - 1, 10)))


def _where_leased(job: Job) -> ColumnElement[bool]:
    """Match the job while this attempt has its lease: it must not overwrite the outcome of a later one."""
    return (jobs.c.id == job.id) & (jobs.c.attempts == job.attempt) & (jobs.c.leased_by == job.leased_by)
