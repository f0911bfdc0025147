"""The queue of events: record them, send them in batches by jobs, clean up.

Events are recorded in the transaction of their clicks: they exist if and only if it commits.

The events of each pixel have a job as long as there are any. `enqueue_batches` adds those that are missing: it steps
from one pixel to the next by index, so that the events of one pixel do not slow the others down, and a click changes
no row that others change.

Retries share half of a platform's slots: however many of its pixels hang, the other half is free.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Integer, Text, bindparam, delete, select, text

from waypost.accounts.suspension import NOT_SUSPENDED
from waypost.database import Database, Id, Tx, bulk, rows_with, take_advisory_lock
from waypost.kit.clock import Clock, microseconds
from waypost.resources.pixels.events.model import EventResults, PageView, add_results, pixel_events
from waypost.resources.pixels.model import pixels
from waypost.worker import jobs
from waypost.worker.jobs import Again, Job, JobKind, JobQueue

DEADLINE = 10.0  # seconds for a request and its response
QUEUE = JobQueue(
    "pixel_events",
    slots=16,
    per_account=1,
    per_kind=8,
    timeout=timedelta(seconds=DEADLINE + 10),
    shutdown_timeout=DEADLINE + 1,
)
JOBS = {platform: JobKind(f"pixels.send_to_{platform}", QUEUE) for platform in ("facebook", "tiktok", "pinterest")}
"""By platform: those with an endpoint for which a token is enough."""
BATCH_SIZE = 500
"""Events per request. Each platform accepts 1,000, but a single bad event can fail its entire request."""
BATCH_DELAY = 5.0
"""Seconds that events are collected at most: few large requests are cheaper than many."""
MAX_PENDING_PER_PIXEL = 10_000
_STATEMENT_ROWS = 500  # rows, or parameters, of one statement
_DELETED_ROWS = 2_000  # of one transaction
_TOO_MANY = "more events were pending than are stored"

_events = pixel_events.c

# ruff: noqa: S608  # built only from the constants below
_QUEUES = (
    "WITH RECURSIVE queue (pixel_id) AS (SELECT (SELECT pixel_id FROM pixel_events ORDER BY pixel_id, id LIMIT 1)"
    " UNION ALL SELECT (SELECT e.pixel_id FROM pixel_events AS e WHERE e.pixel_id > queue.pixel_id"
    " ORDER BY e.pixel_id, e.id LIMIT 1) FROM queue WHERE pixel_id IS NOT NULL)"
)
"""Pixels with pending events, and a null."""
_WITHOUT_JOB = text(
    f"{_QUEUES} SELECT queue.pixel_id, pixels.account_id,"
    " (SELECT e.platform FROM pixel_events AS e WHERE e.pixel_id = queue.pixel_id ORDER BY e.id LIMIT 1) AS platform"
    f" FROM queue JOIN pixels ON pixels.id = queue.pixel_id WHERE NOT {jobs.HAS_JOB.format('queue.pixel_id')}"
    f" AND {NOT_SUSPENDED.format('pixels.account_id')} LIMIT {_STATEMENT_ROWS}"
).columns(pixel_id=Id, account_id=Id, platform=Text)
_ORPHANED = text(
    f"{_QUEUES} SELECT pixel_id FROM queue WHERE pixel_id IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM pixels WHERE pixels.id = queue.pixel_id) LIMIT 1"
).columns(pixel_id=Id)
_OVER_LIMIT = (
    text(
        f"{_QUEUES} SELECT pixel_id FROM queue WHERE EXISTS (SELECT e.id FROM pixel_events AS e"
        " WHERE e.pixel_id = queue.pixel_id ORDER BY e.id LIMIT 1 OFFSET :max_pending) LIMIT 1"
    )
    .bindparams(bindparam("max_pending", type_=Integer))
    .columns(pixel_id=Id)
)


class PixelEvent(NamedTuple):
    """A page view to report for a pixel."""

    id: UUID
    """Identifies click and pixel: a view that is recorded twice is stored once."""
    pixel_id: UUID
    platform: str
    view: PageView


async def find_with_server_events(tx: Tx, pixel_ids: Collection[UUID]) -> set[UUID]:
    """Return the pixels that have server-side events."""
    query = select(pixels.c.id).where(pixels.c.platform.in_(JOBS), pixels.c.access_token.is_not(None))
    return {row.id for row in await rows_with(tx, query, pixels.c.id, pixel_ids)}


async def record_all(tx: Tx, events: Iterable[PixelEvent], *, now: datetime) -> None:
    """Insert in groups, so that memory and pauses of the event loop do not grow with the number of events."""
    at = microseconds(now)
    rows = (
        (event.id.bytes, event.pixel_id.bytes, event.platform, json.dumps(event.view, separators=(",", ":")), at)
        for event in events
    )
    while group := list(islice(rows, _STATEMENT_ROWS)):
        await bulk.insert(tx, pixel_events, group, on_conflict="ON CONFLICT (id) DO NOTHING")


async def is_pending(tx: Tx, pixel_id: UUID, event_id: UUID, *, since: datetime) -> bool:
    is_event = pixel_events.c.id == event_id, pixel_events.c.pixel_id == pixel_id, pixel_events.c.created_at > since
    return await tx.scalar(select(pixel_events.c.id).where(*is_event)) is not None


async def enqueue_batches(db: Database, *, clock: Clock) -> bool:
    """Add a job for each pixel that has events and no job. Return whether there may be more."""
    async with db.read() as tx:  # usually there is nothing to do, and a read takes no write lock
        rows = (await tx.execute(_WITHOUT_JOB)).all()
    if rows:
        async with db.write() as tx:
            for row in rows:
                if batch := await _find_batch(tx, row.pixel_id):
                    of_pixel = {"account_id": row.account_id, "id_": row.pixel_id}
                    await jobs.enqueue(tx, JOBS[row.platform], batch, now=clock(), **of_pixel)
    return len(rows) == _STATEMENT_ROWS


async def find_events(tx: Tx, job: Job) -> list[PixelEvent]:
    """Return the events of the job's batch: the same ones in each attempt."""
    query = select(_events.id, _events.platform, _events.payload)
    query = query.where(_events.pixel_id == job.id, _events.id <= UUID(job.payload["last_event"]))
    rows = await tx.execute(query.order_by(_events.id).limit(BATCH_SIZE))
    return [PixelEvent(row.id, job.id, row.platform, PageView(*json.loads(row.payload))) for row in rows]


async def settle(tx: Tx, job: Job, results: EventResults, finished: Sequence[UUID], *, now: datetime) -> Again | None:
    """Store the results, delete the events that are not sent again, and return the next batch if it is full.

    One that is not waits for `enqueue_batches`.
    """
    if not await jobs.lock(tx, job):
        return None
    await tx.execute(delete(pixel_events).where(_events.id.in_(finished)))
    await add_results(tx, job.id, results)
    batch = await _find_batch(tx, job.id, at_least=BATCH_SIZE)
    return Again(now, payload=batch) if batch else None


async def _find_batch(tx: Tx, pixel_id: UUID, *, at_least: int = 1) -> Any:
    """Return the payload of the job that sends the oldest events, or None if there are less than `at_least`."""
    ids = select(_events.id).where(_events.pixel_id == pixel_id).order_by(_events.id).limit(BATCH_SIZE)
    batch = list(await tx.scalars(ids))
    return {"last_event": str(batch[-1])} if len(batch) >= at_least else None


async def delete_unsendable(db: Database, *, clock: Clock) -> bool:
    """Delete one group of events of deleted pixels, or beyond MAX_PENDING_PER_PIXEL. False if there was none."""
    async with db.read() as tx:
        orphaned = (await tx.execute(_ORPHANED)).scalar_one_or_none()
        params = {"max_pending": MAX_PENDING_PER_PIXEL}
        pixel_id = orphaned or (await tx.execute(_OVER_LIMIT, params)).scalar_one_or_none()
    if pixel_id is None:
        return False
    async with db.write() as tx:
        await take_advisory_lock(tx, "pixels")  # otherwise two processes could wait for each other's rows
        await (_delete_all(tx, pixel_id) if orphaned else _delete_newest(tx, pixel_id, clock()))
    return True


async def _delete_all(tx: Tx, pixel_id: UUID) -> None:
    ids = select(_events.id).where(_events.pixel_id == pixel_id).order_by(_events.id).limit(_DELETED_ROWS)
    await jobs.delete_job(tx, pixel_id)
    await tx.execute(delete(pixel_events).where(_events.id.in_(ids)))


async def _delete_newest(tx: Tx, pixel_id: UUID, now: datetime) -> None:
    """Delete the newest events. The batch in flight has the oldest ones."""
    ids = select(_events.id).where(_events.pixel_id == pixel_id).order_by(_events.id)
    ids = ids.offset(MAX_PENDING_PER_PIXEL).limit(_DELETED_ROWS)
    dropped = (await tx.execute(delete(pixel_events).where(_events.id.in_(ids)))).rowcount
    await add_results(tx, pixel_id, EventResults(dropped=dropped, reason=_TOO_MANY, reason_at=now))
