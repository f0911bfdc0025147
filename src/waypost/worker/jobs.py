"""Queues of jobs: `enqueue` adds a job in the caller's transaction, and the worker runs it by the handler of its kind.

An attempt is counted when the job is claimed, before it runs: a job that runs twice has two attempts. So is a death,
until the attempt is settled: a job whose process has died some times in a row is not tried again.

An account has a share of each queue, counted in the database, for all workers.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator, Mapping, Sequence
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
    SmallInteger,
    Table,
    Text,
    Update,
    case,
    delete,
    func,
    literal,
    not_,
    select,
    update,
)

from waypost.database import Id, Instant, Json, Tx, metadata, only_where, take_advisory_lock, upsert
from waypost.kit.clock import Clock
from waypost.kit.ids import new_id
from waypost.worker.loop import SHUTDOWN_TIMEOUT, QueueWorker, reason_of

jobs = Table(
    "jobs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("queue", Text, nullable=False, server_default="jobs"),
    Column("rank", SmallInteger, nullable=False, server_default="0"),  # lower ones are claimed first
    Column("name", Text, nullable=False),
    Column("payload", Json, nullable=False),
    Column("account_id", Id),
    Column("run_at", Instant, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("lease_until", Instant),
    Column("error", Text),
    Column("failed_at", Instant),
    Column("created_at", Instant, nullable=False),
    Column("deaths", Integer, nullable=False, server_default="0"),  # attempts in a row that nobody has settled
)
_c = jobs.c
_WAITING, _LEASED = _c.failed_at.is_(None), _c.lease_until.is_not(None)
Index(
    "ix_jobs_waiting",  # with the columns by which due jobs are chosen: an account may have very many beyond its share
    *_c["queue", "rank", "run_at", "id", "name", "account_id", "attempts", "lease_until"],
    **only_where(_WAITING),
)
Index("ix_jobs_leased", _c.queue, _c.lease_until, **only_where(_LEASED))

_FOREVER = 1 << 30  # attempts
HAS_JOB = "EXISTS (SELECT 1 FROM jobs WHERE jobs.id = {} AND jobs.failed_at IS NULL)"
"""SQL condition for statements that are written as text, with the id of a thing for `{}`."""
MAX_DEATHS = 3
_MAX_ERROR = 500
_MAX_DELAY = timedelta(hours=1)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class JobQueue:
    """Jobs that share slots. Jobs in other queues do not wait for them."""

    name: str
    slots: int
    """Attempts in flight in one process."""
    per_account: int
    """Attempts in flight of one kind and account, in all processes."""
    per_kind: int | None = None
    """Attempts in flight of one kind, in all processes, of which retries share half. None: not limited."""
    ranks: int = 1
    poll_interval: float = 0.0
    timeout: timedelta = timedelta(seconds=50)
    """Of an attempt."""
    shutdown_timeout: float = SHUTDOWN_TIMEOUT

    @property
    def lease(self) -> timedelta:
        """Longer than an attempt, so that it has ended before another process may claim the job."""
        return self.timeout + timedelta(seconds=10)

    def own_timeout(self) -> asyncio.Timeout:
        """Return the timeout of a handler that counts its failures: it ends before it is cancelled from outside."""
        return asyncio.timeout(self.timeout.total_seconds() - 2)


SHORT = JobQueue("jobs", slots=8, per_account=4)
LONG = JobQueue("long_jobs", slots=6, per_account=1, poll_interval=1.0)
"""For jobs that take up to half a minute and that accounts can start. Mail does not wait for them."""


@dataclass(frozen=True, slots=True)
class JobKind:
    name: str
    """`package.verb`"""
    queue: JobQueue = SHORT
    max_attempts: int | None = 8
    """None: there is no limit, also of deaths."""
    is_private: bool = False
    """Payloads let people in or name them: of a job that failed permanently only the error is kept."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job with an attempt in flight."""

    id: UUID
    name: str
    payload: Any
    account_id: UUID | None
    attempt: int
    """Starts at 1."""
    max_attempts: int
    lease_until: datetime
    """Only the attempt with this lease may change the job."""


_JOB = tuple(_c[name] for name in ("id", "name", "payload", "account_id", "attempts", "max_attempts", "lease_until"))


@dataclass(frozen=True, slots=True)
class Again:
    """The attempt succeeded, and the job runs again."""

    at: datetime
    rank: int = 0
    payload: Any = None
    """None: as before."""


Handler = Callable[[Job], Awaitable[Again | None]]
"""Does the job or raises; the error is stored with the job, and the job is retried."""
Handlers = Mapping[JobKind, Handler]
Stop = Callable[[Tx, Job], Awaitable[None]]
"""Saves that a job is not tried again, in the transaction that ends it."""
Stops = Mapping[JobKind, Stop]


class ProcessDied(Exception):
    """The process that a handler has started for the job died. Counts like the death of the worker."""


class RetryLater(Exception):
    """The attempt failed for a reason that passes."""

    def __init__(self, reason: str, wait: timedelta) -> None:
        """`wait`: until the next attempt, at least."""
        super().__init__(reason)
        self.wait = wait


async def enqueue(
    tx: Tx,
    kind: JobKind,
    payload: Any,
    *,
    now: datetime,
    run_at: datetime | None = None,
    account_id: UUID | None = None,
    id_: UUID | None = None,
    rank: int = 0,
) -> UUID:
    """Add a job in the caller's transaction. `payload`: any JSON value except null.

    `id_`: of the thing that has at most one job. One that waits is replaced, and one that is running runs again.
    """
    job_id, row = id_ or new_id(), _row(kind, payload, now)
    row |= {"rank": rank, "account_id": account_id, "run_at": run_at or now}
    statement = upsert(tx, jobs).values(row | {"id": job_id})
    await tx.execute(statement.on_conflict_do_update(index_elements=["id"], set_=row))
    return job_id


async def enqueue_once(tx: Tx, kind: JobKind, payload: Any, id_: UUID, *, now: datetime) -> None:
    """Add a job that exists once in the service. One that waits runs now, with its payload; one that runs goes on."""
    statement = upsert(tx, jobs).values(_row(kind, payload, now) | {"id": id_})
    waits = (_c.run_at > now) & _c.lease_until.is_(None)
    await tx.execute(statement.on_conflict_do_update(index_elements=["id"], set_={"run_at": now}, where=waits))


async def hold(tx: Tx, kind: JobKind, id_: UUID, *, now: datetime, until: datetime) -> Any:
    """Keep workers from a job that exists once, while a command does its work. Return its payload."""
    held = {"lease_until": until}
    statement = upsert(tx, jobs).values(_row(kind, {}, now) | held | {"id": id_})
    replaced = statement.on_conflict_do_update(index_elements=["id"], set_=held)
    return (await tx.execute(replaced.returning(_c.payload))).one().payload


async def release(tx: Tx, id_: UUID, payload: Any, *, now: datetime) -> None:
    """Let workers go on with a job that was held."""
    await tx.execute(update(jobs).where(_c.id == id_).values(payload=payload, run_at=now, lease_until=None))


def _row(kind: JobKind, payload: Any, now: datetime) -> dict[str, Any]:
    row = {"queue": kind.queue.name, "rank": 0, "name": kind.name, "payload": payload, "account_id": None}
    row |= {"run_at": now, "attempts": 0, "max_attempts": kind.max_attempts or _FOREVER, "deaths": 0}
    return row | {"error": None, "failed_at": None, "created_at": now}


@dataclass(frozen=True, slots=True)
class Backlog:
    pending: int
    """Jobs that are due and do not run."""
    oldest: datetime | None
    """When the first of them was due."""
    failed: int


def _is_unleased(now: datetime) -> ColumnElement[bool]:
    return _c.lease_until.is_(None) | (_c.lease_until <= now)


async def read_backlog(tx: Tx, now: datetime) -> Backlog:
    pending_query = select(func.count(), func.min(_c.run_at)).where(_WAITING, _c.run_at <= now, _is_unleased(now))
    pending, oldest = (await tx.execute(pending_query)).one()
    failed = (await tx.execute(select(func.count()).where(_c.failed_at.is_not(None)))).scalar_one()
    return Backlog(pending, oldest, failed)


async def delete_job(tx: Tx, id_: UUID) -> None:
    """Delete the job of a thing. An attempt in flight changes nothing any more."""
    await tx.execute(delete(jobs).where(_c.id == id_))


async def delete_jobs(tx: Tx, kind: JobKind, account_id: UUID) -> None:
    """Delete all jobs of this kind and account, including failed ones."""
    await tx.execute(delete(jobs).where(_c.name == kind.name, _c.account_id == account_id))


async def is_pending(tx: Tx, id_: UUID) -> bool:
    """Return whether the job of a thing waits or runs."""
    return await tx.scalar(select(_c.id).where(_c.id == id_, _WAITING)) is not None


async def lock(tx: Tx, job: Job) -> bool:
    """Lock the job until the transaction ends. Return False if the attempt has lost its lease."""
    return await tx.scalar(select(_c.id).where(_where_leased(job)).with_for_update()) is not None


async def is_enqueued_again(tx: Tx, job: Job) -> bool:
    """Return whether the job was enqueued again since it was claimed."""
    return await tx.scalar(select(_c.id).where(_where_leased(job), ~_is_unchanged(job))) is not None


def is_running(thing_id: Column[Any], now: datetime) -> ColumnElement[bool]:
    """SQL condition: an attempt of the thing's job is in flight."""
    return select(_c.id).where(_c.id == thing_id, _c.lease_until > now).exists()


@dataclass(frozen=True, slots=True)
class JobOutcome:
    job: Job
    error: str | None
    """None if the handler has done it."""
    again: Again | None = None
    wait: timedelta = timedelta(0)
    """Until the next attempt, at least."""
    is_death: bool = False


class JobRunner(QueueWorker[Job, JobOutcome]):
    """Runs the jobs of one queue."""

    def __init__(self, queue: JobQueue, handlers: Handlers, *, clock: Clock, stops: Stops | None = None) -> None:
        self.name = queue.name
        self.max_concurrent = queue.slots
        self.poll_interval = queue.poll_interval
        self.shutdown_timeout = queue.shutdown_timeout
        self._queue = queue
        self._handlers = {kind.name: handler for kind, handler in handlers.items()}
        self._private = [kind.name for kind in handlers if kind.is_private]
        self._stops = {kind.name: stop for kind, stop in (stops or {}).items()}
        self._clock = clock

    async def is_due(self, tx: Tx) -> bool:
        now = self._clock()
        if await tx.scalar(select(_c.id).where(*self._where_due(now)).limit(1)) is None:
            return False
        return bool(await self._choose(tx, now, 1))

    async def find_oldest_due(self, tx: Tx) -> datetime | None:
        since: datetime | None = await tx.scalar(select(func.min(_c.run_at)).where(*self._where_due(self._clock())))
        return since

    async def claim(self, tx: Tx, free_slots: int) -> list[Job]:
        """Lease due jobs, and end jobs whose last attempt was never settled."""
        await take_advisory_lock(tx, "jobs")  # otherwise two processes could exceed an account's share
        now = self._clock()
        chosen = await self._choose(tx, now, free_slots)
        await self._end_unsettled(tx, now, chosen)
        due = select(_c.id).where(_c.id.in_(chosen), *self._where_due(now)).with_for_update(skip_locked=True).cte("due")
        counted = {"attempts": _c.attempts + 1, "deaths": _c.deaths + 1, "lease_until": now + self._queue.lease}
        statement = update(jobs).where(_c.id.in_(select(due.c.id))).values(counted).returning(*_JOB)
        return [Job(*row) for row in await tx.execute(statement)]

    async def run(self, claimed: Job) -> JobOutcome:
        handler = self._handlers.get(claimed.name)
        if handler is None:
            return JobOutcome(claimed, f"no handler is named {claimed.name}")
        context = {"job": claimed.name, "id": str(claimed.id), "attempt": claimed.attempt}
        try:
            async with asyncio.timeout(self._queue.timeout.total_seconds()):
                again = await handler(claimed)
        except asyncio.CancelledError:
            _log.warning("job stopped", **context)
            return JobOutcome(claimed, "the process was stopped while it ran")
        except ProcessDied as error:
            _log.warning("process of a job died", **context, error=str(error))
            return JobOutcome(claimed, str(error), is_death=True)
        except RetryLater as error:
            _log.warning("job failed", **context, error=str(error))
            return JobOutcome(claimed, str(error), wait=error.wait)
        except Exception as error:  # noqa: BLE001  # a job's failure is a value: it is stored, and the job is retried
            event = "job timed out" if isinstance(error, TimeoutError) else "job failed"
            _log.warning(event, **context, error=reason_of(error))
            return JobOutcome(claimed, reason_of(error))
        return JobOutcome(claimed, None, again)

    async def settle(self, tx: Tx, outcomes: Sequence[JobOutcome]) -> None:
        """Save the outcomes. That of a job that was enqueued again meanwhile only ends the lease.

        In the order of ids, so that two transactions do not wait for each other.
        """
        for outcome in sorted(outcomes, key=lambda outcome: outcome.job.id):
            change = delete(jobs) if outcome.error is None and outcome.again is None else self._update(outcome)
            is_leased = _where_leased(outcome.job)
            if (await tx.execute(change.where(is_leased, _is_unchanged(outcome.job)))).rowcount == 0:
                await tx.execute(update(jobs).where(is_leased).values(lease_until=None))

    def _update(self, outcome: JobOutcome) -> Update:
        """Schedule the next run, or another attempt. After the last attempt, keep the row with the error."""
        job, again, values = outcome.job, outcome.again, dict[str, Any](lease_until=None)
        if again:
            values |= {"run_at": again.at, "rank": again.rank, "attempts": 0, "error": None}
            values |= {} if again.payload is None else {"payload": again.payload}
        elif job.attempt >= job.max_attempts:
            values |= {"failed_at": self._clock()} | ({"payload": {}} if job.name in self._private else {})
        else:
            values["run_at"] = self._clock() + max(wait_after(job.attempt), outcome.wait)
        if outcome.error is not None:
            values["error"] = outcome.error[:_MAX_ERROR].replace("\0", " ")  # PostgreSQL has no text with NUL
        return update(jobs).values(values if outcome.is_death else values | {"deaths": 0})

    async def _choose(self, tx: Tx, now: datetime, limit: int) -> list[UUID]:
        """Return due jobs for which a slot is free: by rank, the longest waiting first."""
        taken, full = Counter[Hashable](), list[ColumnElement[bool]]()

        def take(row: Any, *, is_retry: bool) -> bool:
            limits = list(self._limits(row, is_retry=is_retry))
            if any(taken[key] >= maximum for key, maximum, _ in limits):
                return False
            taken.update(key for key, _, _ in limits)
            full.extend(not_(condition) for key, maximum, condition in limits if taken[key] == maximum)
            return True

        running = select(_c.name, _c.account_id, _c.attempts).where(_c.queue == self.name, _c.lease_until > now)
        for attempt in await tx.execute(running):
            take(attempt, is_retry=attempt.attempts > 1)
        chosen: list[UUID] = []
        for rank in range(self._queue.ranks):
            query = select(_c.id, _c.name, _c.account_id, _c.attempts).where(*self._where_due(now), _c.rank == rank)
            query = query.order_by(_c.run_at, _c.id)
            rows: Sequence[Any] = [None]
            while rows and len(chosen) < limit:  # the next query finds no jobs of those that are full by then
                remaining = query.where(_c.id.not_in(chosen), *full).limit(limit - len(chosen))
                rows = (await tx.execute(remaining)).all()
                chosen += [row.id for row in rows if take(row, is_retry=row.attempts > 0)]
        return chosen

    def _limits(self, row: Any, *, is_retry: bool) -> Iterator[tuple[Hashable, int, ColumnElement[bool]]]:
        """Return each limit that an attempt counts for: (key, limit, SQL condition of the jobs that count for it)."""
        per_kind, is_of_kind = self._queue.per_kind, _c.name == row.name
        if row.account_id:
            is_of_account = _c.account_id.is_not_distinct_from(row.account_id)
            yield (row.name, row.account_id), self._queue.per_account, is_of_kind & is_of_account
        if per_kind:
            yield row.name, per_kind, is_of_kind
            if is_retry:
                yield (row.name, None), per_kind // 2, is_of_kind & (_c.attempts > 0)

    def _where_due(self, now: datetime) -> tuple[ColumnElement[bool], ...]:
        in_queue = _c.queue == self.name, _c.rank.in_(range(self._queue.ranks))
        return *in_queue, _WAITING, _c.run_at <= now, _is_unleased(now)

    async def _end_unsettled(self, tx: Tx, now: datetime, chosen: Collection[UUID]) -> None:
        is_deadly = (_c.deaths >= MAX_DEATHS) & (_c.max_attempts < _FOREVER)
        died = f"stopped: the process died {MAX_DEATHS} times while it ran, as it does if it needs too much memory"
        ended_early = func.coalesce(_c.error, "the process ended while it ran the last attempt")
        payload = case((_c.name.in_(self._private), literal({}, _c.payload.type)), else_=_c.payload)
        ended = {"failed_at": now, "lease_until": None, "payload": payload}
        ended["error"] = case((is_deadly, died), else_=ended_early)
        is_over = is_deadly | (_c.attempts >= _c.max_attempts)
        statement = update(jobs).where(_c.id.in_(chosen), *self._where_due(now), is_over).values(ended).returning(*_JOB)
        for row in await tx.execute(statement):
            job = Job(*row)
            _log.warning("job stopped, because its process died", job=job.name, id=str(job.id), attempt=job.attempt)
            if stop := self._stops.get(job.name):
                await stop(tx, job)


def wait_after(attempt: int) -> timedelta:
    """Return the delay after an attempt: 2 s, 8 s, 32 s, … at most an hour."""
    return min(_MAX_DELAY, timedelta(seconds=2 * 4 ** min(attempt - 1, 10)))


def _where_leased(job: Job) -> ColumnElement[bool]:
    """Match the job while this attempt has its lease: it must not overwrite the outcome of a later one."""
    return (_c.id == job.id) & (_c.lease_until == job.lease_until)


def _is_unchanged(job: Job) -> ColumnElement[bool]:
    """Match the claimed job unless it was enqueued again, which resets its attempts."""
    return _c.attempts == job.attempt
