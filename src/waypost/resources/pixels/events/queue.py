"""The queue of events: record them, claim a lot (the events of one request) under a lease, settle it, clean up.

Events are recorded in the transaction of their clicks: they exist if and only if it commits.

Each pixel is a queue of its own. A claim steps from one to the next by index, so that the events of one pixel do not
slow the others down. When a process dies, the lease expires and the next claim takes the same lot again.

Slots are limited in total and per platform, and an account has one. Lots that failed before share half of a platform's
slots: however many of its pixels hang, the other half is free.
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

from waypost.database import Database, Id, Instant, Tx, bulk, take_advisory_lock
from waypost.kit.clock import Clock, microseconds
from waypost.resources.pixels.events.model import EventResults, PageView, add_results, pixel_batches, pixel_events
from waypost.resources.pixels.model import pixels

PLATFORMS = ("facebook", "tiktok", "pinterest")
"""Platforms with an endpoint for which a token is enough."""
LOT = 500
"""Events of one request. Each platform accepts 1,000, but a single bad event can fail its entire request."""
GATHERING = timedelta(seconds=5)
"""From a lot's oldest event until it is sent: few large requests are cheaper than many."""
WAITING_AT_MOST = 10_000
"""Events of a pixel."""
AT_MOST = 16
"""Requests in flight."""
OF_PLATFORM = 8
_FAILED_BEFORE = OF_PLATFORM // 2
_RECORDED_AT_ONCE = 500  # rows, or parameters, of one statement
_DELETED_AT_ONCE = 2_000
_TOO_MANY = "more events were pending than are stored"

_E, _L = pixel_events.c, pixel_batches.c
_LOCK = 0x706978656C73  # "pixels"

# ruff: noqa: S608  # built only from the constants below
# pixels with pending events, and a null
_QUEUES = (
    "WITH RECURSIVE queue (pixel_id) AS (SELECT (SELECT pixel_id FROM pixel_events ORDER BY pixel_id, id LIMIT 1)"
    " UNION ALL SELECT (SELECT e.pixel_id FROM pixel_events AS e WHERE e.pixel_id > queue.pixel_id"
    " ORDER BY e.pixel_id, e.id LIMIT 1) FROM queue WHERE pixel_id IS NOT NULL)"
)
_OLDEST = "SELECT e.created_at FROM pixel_events AS e WHERE e.pixel_id = queue.pixel_id ORDER BY e.id LIMIT 1"
_DUE = (
    text(
        f"{_QUEUES}, known AS (SELECT queue.pixel_id, pixels.account_id, pixels.platform, ({_OLDEST}) AS oldest,"
        " COALESCE(lot.attempts, 0) + 1 AS attempt, lot.next_attempt_at FROM queue"
        " JOIN pixels ON pixels.id = queue.pixel_id LEFT JOIN pixel_batches AS lot ON lot.pixel_id = queue.pixel_id)"
        " SELECT pixel_id, account_id, platform, attempt FROM known"
        " WHERE next_attempt_at <= :now OR (next_attempt_at IS NULL AND oldest <= :gathered)"
        " ORDER BY COALESCE(next_attempt_at, oldest)"
    )
    .bindparams(bindparam("now", type_=Instant), bindparam("gathered", type_=Instant))
    .columns(pixel_id=Id, account_id=Id, platform=Text, attempt=Integer)
)
_ORPHANED = text(
    f"{_QUEUES} SELECT pixel_id FROM queue WHERE pixel_id IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM pixels WHERE pixels.id = queue.pixel_id)"
    " UNION ALL SELECT pixel_id FROM pixel_batches"
    " WHERE NOT EXISTS (SELECT 1 FROM pixels WHERE pixels.id = pixel_batches.pixel_id) LIMIT 1"
).columns(pixel_id=Id)
_OVERFULL = (
    text(
        f"{_QUEUES} SELECT pixel_id FROM queue WHERE EXISTS (SELECT e.id FROM pixel_events AS e"
        " WHERE e.pixel_id = queue.pixel_id ORDER BY e.id LIMIT 1 OFFSET :kept) LIMIT 1"
    )
    .bindparams(bindparam("kept", type_=Integer))
    .columns(pixel_id=Id)
)


class PixelEvent(NamedTuple):
    """A page view to report for a pixel."""

    id: UUID
    """The same when the same view is recorded again, which has no effect."""
    pixel_id: UUID
    platform: str
    event: PageView


@dataclass(frozen=True, slots=True)
class QueuedPixel:
    """A pixel with a request in flight, or with events that wait for one."""

    pixel_id: UUID
    account_id: UUID
    platform: str
    attempt: int
    """1 for the first."""


class RequestSlots:
    def __init__(self, in_flight: Iterable[QueuedPixel]) -> None:
        self._taken = 0
        self._accounts = set[UUID]()
        self._of_platform = Counter[str]()
        self._failed_before = Counter[str]()
        for pixel in in_flight:
            self._note(pixel)

    def take(self, pixel: QueuedPixel) -> bool:
        """False when no slot is free for it."""
        is_full = self._taken >= AT_MOST or self._of_platform[pixel.platform] >= OF_PLATFORM
        if is_full or pixel.account_id in self._accounts:
            return False
        if pixel.attempt > 1 and self._failed_before[pixel.platform] >= _FAILED_BEFORE:
            return False
        self._note(pixel)
        return True

    def _note(self, pixel: QueuedPixel) -> None:
        self._taken += 1
        self._accounts.add(pixel.account_id)
        self._of_platform[pixel.platform] += 1
        self._failed_before[pixel.platform] += pixel.attempt > 1


@dataclass(frozen=True, slots=True)
class ClaimedLot:
    """A lot with an attempt in flight."""

    id: UUID
    """The pixel's: it has one lot at a time."""
    last_event: UUID
    attempt: int
    leased_until: datetime
    """To settle it, the lot must still have this lease."""


@dataclass(frozen=True, slots=True)
class LotOutcome:
    """The outcome of an attempt."""

    claimed: ClaimedLot
    new: EventResults
    events: Sequence[UUID] = ()
    """Those that are finished."""
    next_attempt_at: datetime | None = None
    """None when all are finished."""


async def with_server_events(tx: Tx, pixel_ids: Collection[UUID]) -> set[UUID]:
    """Which of these pixels have server-side events."""
    ids, found = list(pixel_ids), set[UUID]()
    conditions = (pixels.c.platform.in_(PLATFORMS), pixels.c.access_token.is_not(None))
    for start in range(0, len(ids), _RECORDED_AT_ONCE):
        some = ids[start : start + _RECORDED_AT_ONCE]
        found |= set(await tx.scalars(select(pixels.c.id).where(pixels.c.id.in_(some), *conditions)))
    return found


async def record_all(tx: Tx, events: Iterable[PixelEvent], *, now: datetime) -> None:
    """Insert in groups, so that memory and pauses of the event loop do not grow with the number of events."""
    at = microseconds(now)
    rows = (
        (each.id.bytes, each.pixel_id.bytes, each.platform, json.dumps(each.event, separators=(",", ":")), at)
        for each in events
    )
    while group := list(islice(rows, _RECORDED_AT_ONCE)):
        await bulk.insert(tx, pixel_events, group, on_conflict="ON CONFLICT (id) DO NOTHING")


async def lock(tx: Tx) -> None:
    """Needed to change lots or to delete events: until the transaction ends, nobody else does."""
    await take_advisory_lock(tx, _LOCK)


async def due(tx: Tx, now: datetime) -> list[QueuedPixel]:
    """Pixels that may have a request now, those that wait longest first. Takes no write lock."""
    slots = RequestSlots(await _in_flight(tx, now))
    rows = await tx.execute(_DUE, {"now": now, "gathered": now - GATHERING})
    return [pixel for pixel in (QueuedPixel(*row) for row in rows) if slots.take(pixel)]


async def claim(tx: Tx, *, clock: Clock, lease: timedelta) -> list[ClaimedLot]:
    await lock(tx)
    now = clock()
    return [await _claimed(tx, pixel, now + lease) for pixel in await due(tx, now)]


async def events_of(tx: Tx, claimed: ClaimedLot) -> list[PixelEvent]:
    lot = select(_E.id, _E.platform, _E.payload).where(_E.pixel_id == claimed.id, _E.id <= claimed.last_event)
    rows = await tx.execute(lot.order_by(_E.id).limit(LOT))
    return [PixelEvent(row.id, claimed.id, row.platform, PageView(*json.loads(row.payload))) for row in rows]


async def settle(tx: Tx, outcomes: Sequence[LotOutcome]) -> None:
    """An attempt that lost its lease changes nothing."""
    await lock(tx)
    for each in outcomes:
        of = each.claimed
        mine = (_L.pixel_id == of.id, _L.leased_until == of.leased_until)
        if each.next_attempt_at is None:
            settled = await tx.execute(delete(pixel_batches).where(*mine))
        else:
            later = {"leased_until": None, "next_attempt_at": each.next_attempt_at}
            settled = await tx.execute(update(pixel_batches).where(*mine).values(later))
        if settled.rowcount:
            await tx.execute(delete(pixel_events).where(_E.id.in_(each.events)))
            await add_results(tx, of.id, each.new)


async def _in_flight(tx: Tx, now: datetime) -> list[QueuedPixel]:
    known = select(pixels.c.id, pixels.c.account_id, pixels.c.platform, _L.attempts)
    rows = await tx.execute(known.join(pixel_batches, _L.pixel_id == pixels.c.id).where(_L.leased_until > now))
    return [QueuedPixel(*row) for row in rows]


async def _claimed(tx: Tx, pixel: QueuedPixel, until: datetime) -> ClaimedLot:
    values = {"attempts": pixel.attempt, "next_attempt_at": until, "leased_until": until}
    of_pixel = _L.pixel_id == pixel.pixel_id
    if pixel.attempt > 1:
        last = await tx.execute(update(pixel_batches).where(of_pixel).values(values).returning(_L.last_event))
        return ClaimedLot(pixel.pixel_id, last.scalar_one(), pixel.attempt, until)
    ids = select(_E.id).where(_E.pixel_id == pixel.pixel_id).order_by(_E.id).limit(LOT)
    last_event = list(await tx.scalars(ids))[-1]
    await tx.execute(insert(pixel_batches), {"pixel_id": pixel.pixel_id, "last_event": last_event} | values)
    return ClaimedLot(pixel.pixel_id, last_event, pixel.attempt, until)


async def delete_unsendable(db: Database, *, clock: Clock) -> bool:
    """Delete one group of events of deleted pixels, or beyond WAITING_AT_MOST. False when there was none."""
    async with db.read() as tx:
        orphaned = (await tx.execute(_ORPHANED)).scalar_one_or_none()
        overfull = orphaned or (await tx.execute(_OVERFULL, {"kept": WAITING_AT_MOST})).scalar_one_or_none()
    if overfull is None:
        return False
    async with db.write() as tx:
        await lock(tx)
        await (_delete_all(tx, orphaned) if orphaned else _drop_newest(tx, overfull, clock()))
    return True


async def _delete_all(tx: Tx, pixel_id: UUID) -> None:
    some = select(_E.id).where(_E.pixel_id == pixel_id).order_by(_E.id).limit(_DELETED_AT_ONCE)
    await tx.execute(delete(pixel_batches).where(pixel_batches.c.pixel_id == pixel_id))
    await tx.execute(delete(pixel_events).where(_E.id.in_(some)))


async def _drop_newest(tx: Tx, pixel_id: UUID, now: datetime) -> None:
    """Not those of the lot that is in flight."""
    waiting = select(_E.id).where(_E.pixel_id == pixel_id).order_by(_E.id)
    beyond = waiting.offset(WAITING_AT_MOST).limit(_DELETED_AT_ONCE)
    dropped = (await tx.execute(delete(pixel_events).where(_E.id.in_(beyond)))).rowcount
    await add_results(tx, pixel_id, EventResults(dropped=dropped, reason=_TOO_MANY, reason_at=now))
