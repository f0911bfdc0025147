"""The queue of events: record them, claim a batch (the events of one request) under a lease, settle it, clean up.

Events are recorded in the transaction of their clicks: they exist if and only if it commits.

Each pixel is a queue of its own. A claim steps from one to the next by index, so that the events of one pixel do not
slow the others down. When a process dies, the lease expires and the next claim takes the same batch again.

Slots are limited in total and per platform, and an account has one. Retries share half of a platform's slots: however
many of its pixels hang, the other half is free.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Integer, Text, bindparam, delete, insert, select, text, update

from waypost.accounts.suspension import NOT_SUSPENDED
from waypost.database import Database, Id, Instant, Tx, bulk, take_advisory_lock
from waypost.kit.clock import Clock, microseconds
from waypost.resources.pixels.events.model import EventResults, PageView, add_results, pixel_batches, pixel_events
from waypost.resources.pixels.model import pixels

PLATFORMS = ("facebook", "tiktok", "pinterest")
"""Platforms with an endpoint for which a token is enough."""
BATCH_SIZE = 500
"""Events per request. Each platform accepts 1,000, but a single bad event can fail its entire request."""
BATCH_DELAY = timedelta(seconds=5)
"""From a batch's oldest event until it is sent: few large requests are cheaper than many."""
MAX_PENDING_PER_PIXEL = 10_000
MAX_IN_FLIGHT = 16
MAX_IN_FLIGHT_PER_PLATFORM = 8
_MAX_RETRYING = MAX_IN_FLIGHT_PER_PLATFORM // 2
_STATEMENT_ROWS = 500  # rows, or parameters, of one statement
_DELETED_ROWS = 2_000  # of one transaction
_TOO_MANY = "more events were pending than are stored"

_events, _batches = pixel_events.c, pixel_batches.c
_LOCK = 0x706978656C73  # "pixels"

# ruff: noqa: S608  # built only from the constants below
_QUEUES = (
    "WITH RECURSIVE queue (pixel_id) AS (SELECT (SELECT pixel_id FROM pixel_events ORDER BY pixel_id, id LIMIT 1)"
    " UNION ALL SELECT (SELECT e.pixel_id FROM pixel_events AS e WHERE e.pixel_id > queue.pixel_id"
    " ORDER BY e.pixel_id, e.id LIMIT 1) FROM queue WHERE pixel_id IS NOT NULL)"
)
"""Pixels with pending events, and a null."""
_OLDEST = "SELECT e.created_at FROM pixel_events AS e WHERE e.pixel_id = queue.pixel_id ORDER BY e.id LIMIT 1"
_FROM_DUE = (
    f"{_QUEUES}, pending AS (SELECT queue.pixel_id, pixels.account_id, pixels.platform, ({_OLDEST}) AS oldest,"
    " COALESCE(batch.attempts, 0) + 1 AS attempt, batch.next_attempt_at FROM queue"
    " JOIN pixels ON pixels.id = queue.pixel_id LEFT JOIN pixel_batches AS batch"
    f" ON batch.pixel_id = queue.pixel_id WHERE {NOT_SUSPENDED.format('pixels.account_id')})"
    " SELECT {} FROM pending WHERE next_attempt_at <= :now OR (next_attempt_at IS NULL AND oldest <= :oldest_before)"
)
_DUE_PARAMETERS = bindparam("now", type_=Instant), bindparam("oldest_before", type_=Instant)
_DUE = (
    text(_FROM_DUE.format("pixel_id, account_id, platform, attempt") + " ORDER BY COALESCE(next_attempt_at, oldest)")
    .bindparams(*_DUE_PARAMETERS)
    .columns(pixel_id=Id, account_id=Id, platform=Text, attempt=Integer)
)
_OLDEST_DUE = (
    text(_FROM_DUE.format("min(COALESCE(next_attempt_at, oldest)) AS since"))
    .bindparams(*_DUE_PARAMETERS)
    .columns(since=Instant)
)
_ORPHANED = text(
    f"{_QUEUES} SELECT pixel_id FROM queue WHERE pixel_id IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM pixels WHERE pixels.id = queue.pixel_id)"
    " UNION ALL SELECT pixel_id FROM pixel_batches"
    " WHERE NOT EXISTS (SELECT 1 FROM pixels WHERE pixels.id = pixel_batches.pixel_id) LIMIT 1"
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


@dataclass(frozen=True, slots=True)
class QueuedPixel:
    """A pixel with a request in flight, or with events that are due."""

    pixel_id: UUID
    account_id: UUID
    platform: str
    attempt: int
    """1 for the first."""


class RequestSlots:
    """Limits the requests in flight."""

    def __init__(self, in_flight: Iterable[QueuedPixel]) -> None:
        self._taken = 0
        self._accounts = set[UUID]()
        self._per_platform = Counter[str]()
        self._retrying_per_platform = Counter[str]()
        for pixel in in_flight:
            self._add(pixel)

    def take(self, pixel: QueuedPixel) -> bool:
        """Take a slot. False if none is free for the pixel."""
        is_full = self._taken >= MAX_IN_FLIGHT or self._per_platform[pixel.platform] >= MAX_IN_FLIGHT_PER_PLATFORM
        if is_full or pixel.account_id in self._accounts:
            return False
        if pixel.attempt > 1 and self._retrying_per_platform[pixel.platform] >= _MAX_RETRYING:
            return False
        self._add(pixel)
        return True

    def _add(self, pixel: QueuedPixel) -> None:
        self._taken += 1
        self._accounts.add(pixel.account_id)
        self._per_platform[pixel.platform] += 1
        self._retrying_per_platform[pixel.platform] += pixel.attempt > 1


@dataclass(frozen=True, slots=True)
class ClaimedBatch:
    """A batch with an attempt in flight."""

    id: UUID
    """The id of the pixel, which has one batch at a time."""
    last_event: UUID
    attempt: int
    leased_until: datetime
    """Its outcome is stored only if the batch still has this lease."""


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The outcome of an attempt."""

    batch: ClaimedBatch
    results: EventResults
    finished: Sequence[UUID] = ()
    """Ids of the events that are not sent again."""
    next_attempt_at: datetime | None = None
    """None if all are finished."""


async def find_with_server_events(tx: Tx, pixel_ids: Collection[UUID]) -> set[UUID]:
    """Return the pixels that have server-side events."""
    ids, found = list(pixel_ids), set[UUID]()
    conditions = (pixels.c.platform.in_(PLATFORMS), pixels.c.access_token.is_not(None))
    for start in range(0, len(ids), _STATEMENT_ROWS):
        batch = ids[start : start + _STATEMENT_ROWS]
        found |= set(await tx.scalars(select(pixels.c.id).where(pixels.c.id.in_(batch), *conditions)))
    return found


async def record_all(tx: Tx, events: Iterable[PixelEvent], *, now: datetime) -> None:
    """Insert in groups, so that memory and pauses of the event loop do not grow with the number of events."""
    at = microseconds(now)
    rows = (
        (event.id.bytes, event.pixel_id.bytes, event.platform, json.dumps(event.view, separators=(",", ":")), at)
        for event in events
    )
    while group := list(islice(rows, _STATEMENT_ROWS)):
        await bulk.insert(tx, pixel_events, group, on_conflict="ON CONFLICT (id) DO NOTHING")


async def lock(tx: Tx) -> None:
    """Lock all batches until the transaction ends: needed to change batches or to delete events."""
    await take_advisory_lock(tx, _LOCK)


async def find_due(tx: Tx, now: datetime) -> list[QueuedPixel]:
    """Return pixels that may have a request now, the longest waiting first. Takes no write lock."""
    slots = RequestSlots(await _find_in_flight(tx, now))
    rows = await tx.execute(_DUE, {"now": now, "oldest_before": now - BATCH_DELAY})
    return [pixel for pixel in (QueuedPixel(*row) for row in rows) if slots.take(pixel)]


async def find_oldest_due(tx: Tx, now: datetime) -> datetime | None:
    """Return when the longest waiting events were recorded, or since when their retry is due."""
    since: datetime | None = (
        await tx.execute(_OLDEST_DUE, {"now": now, "oldest_before": now - BATCH_DELAY})
    ).scalar_one()
    return since


async def claim(tx: Tx, *, clock: Clock, lease: timedelta) -> list[ClaimedBatch]:
    await lock(tx)
    now = clock()
    return [await _claim_batch(tx, pixel, now + lease) for pixel in await find_due(tx, now)]


async def find_events(tx: Tx, batch: ClaimedBatch) -> list[PixelEvent]:
    query = select(_events.id, _events.platform, _events.payload)
    query = query.where(_events.pixel_id == batch.id, _events.id <= batch.last_event)
    rows = await tx.execute(query.order_by(_events.id).limit(BATCH_SIZE))
    return [PixelEvent(row.id, batch.id, row.platform, PageView(*json.loads(row.payload))) for row in rows]


async def settle(tx: Tx, outcomes: Sequence[BatchOutcome]) -> None:
    """Store the outcomes. An attempt that lost its lease changes nothing."""
    await lock(tx)
    for outcome in outcomes:
        pixel_id = outcome.batch.id
        has_lease = (_batches.pixel_id == pixel_id, _batches.leased_until == outcome.batch.leased_until)
        if outcome.next_attempt_at is None:
            settled = await tx.execute(delete(pixel_batches).where(*has_lease))
        else:
            values = {"leased_until": None, "next_attempt_at": outcome.next_attempt_at}
            settled = await tx.execute(update(pixel_batches).where(*has_lease).values(values))
        if settled.rowcount:
            await tx.execute(delete(pixel_events).where(_events.id.in_(outcome.finished)))
            await add_results(tx, pixel_id, outcome.results)


async def _find_in_flight(tx: Tx, now: datetime) -> list[QueuedPixel]:
    query = select(pixels.c.id, pixels.c.account_id, pixels.c.platform, _batches.attempts)
    query = query.join(pixel_batches, _batches.pixel_id == pixels.c.id).where(_batches.leased_until > now)
    return [QueuedPixel(*row) for row in await tx.execute(query)]


async def _claim_batch(tx: Tx, pixel: QueuedPixel, until: datetime) -> ClaimedBatch:
    values = {"attempts": pixel.attempt, "next_attempt_at": until, "leased_until": until}
    if pixel.attempt > 1:
        lease = update(pixel_batches).where(_batches.pixel_id == pixel.pixel_id).values(values)
        last_event = (await tx.execute(lease.returning(_batches.last_event))).scalar_one()
    else:
        ids = select(_events.id).where(_events.pixel_id == pixel.pixel_id).order_by(_events.id).limit(BATCH_SIZE)
        last_event = list(await tx.scalars(ids))[-1]
        await tx.execute(insert(pixel_batches), {"pixel_id": pixel.pixel_id, "last_event": last_event} | values)
    return ClaimedBatch(pixel.pixel_id, last_event, pixel.attempt, until)


async def delete_unsendable(db: Database, *, clock: Clock) -> bool:
    """Delete one group of events of deleted pixels, or beyond MAX_PENDING_PER_PIXEL. False if there was none."""
    async with db.read() as tx:
        orphaned = (await tx.execute(_ORPHANED)).scalar_one_or_none()
        params = {"max_pending": MAX_PENDING_PER_PIXEL}
        pixel_id = orphaned or (await tx.execute(_OVER_LIMIT, params)).scalar_one_or_none()
    if pixel_id is None:
        return False
    async with db.write() as tx:
        await lock(tx)
        await (_delete_all(tx, pixel_id) if orphaned else _delete_newest(tx, pixel_id, clock()))
    return True


async def _delete_all(tx: Tx, pixel_id: UUID) -> None:
    ids = select(_events.id).where(_events.pixel_id == pixel_id).order_by(_events.id).limit(_DELETED_ROWS)
    await tx.execute(delete(pixel_batches).where(_batches.pixel_id == pixel_id))
    await tx.execute(delete(pixel_events).where(_events.id.in_(ids)))


async def _delete_newest(tx: Tx, pixel_id: UUID, now: datetime) -> None:
    """Delete the newest events. The batch in flight has the oldest ones."""
    ids = select(_events.id).where(_events.pixel_id == pixel_id).order_by(_events.id)
    ids = ids.offset(MAX_PENDING_PER_PIXEL).limit(_DELETED_ROWS)
    dropped = (await tx.execute(delete(pixel_events).where(_events.id.in_(ids)))).rowcount
    await add_results(tx, pixel_id, EventResults(dropped=dropped, reason=_TOO_MANY, reason_at=now))
