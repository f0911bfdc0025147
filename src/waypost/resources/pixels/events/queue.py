"""SQL of the queue: claim a lot (the events of one request) under a lease, send it, settle it.

Each pixel is a queue of its own. A claim steps from one to the next by index, so that the events of one pixel do not
slow the others down. When a process dies, the lease expires and the next claim takes the same lot again.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Integer, Text, bindparam, delete, insert, select, text, update

from waypost.database import Id, Instant, Tx, take_advisory_lock
from waypost.kit.clock import Clock
from waypost.resources.pixels.events.model import PageView, pixel_events, pixel_lots
from waypost.resources.pixels.events.results import EventResults, add_results
from waypost.resources.pixels.events.slots import QueuedPixel, RequestSlots
from waypost.resources.pixels.model import pixels

LOT = 500
"""Events of one request. Each platform accepts 1,000, but a single bad event can fail its entire request."""
GATHERING = timedelta(seconds=5)
"""From a lot's oldest event until it is sent: few large requests are cheaper than many."""

_E, _L = pixel_events.c, pixel_lots.c
_LOCK = 0x706978656C73  # "pixels"

# ruff: noqa: S608  # built only from the constants below
QUEUES = (
    "WITH RECURSIVE queue (pixel_id) AS (SELECT (SELECT pixel_id FROM pixel_events ORDER BY pixel_id, id LIMIT 1)"
    " UNION ALL SELECT (SELECT e.pixel_id FROM pixel_events AS e WHERE e.pixel_id > queue.pixel_id"
    " ORDER BY e.pixel_id, e.id LIMIT 1) FROM queue WHERE pixel_id IS NOT NULL)"
)
"""Pixels with pending events, and a null."""
_OLDEST = "SELECT e.created_at FROM pixel_events AS e WHERE e.pixel_id = queue.pixel_id ORDER BY e.id LIMIT 1"
_DUE = (
    text(
        f"{QUEUES}, known AS (SELECT queue.pixel_id, pixels.account_id, pixels.platform, ({_OLDEST}) AS oldest,"
        " COALESCE(lot.attempts, 0) + 1 AS attempt, lot.next_attempt_at FROM queue"
        " JOIN pixels ON pixels.id = queue.pixel_id LEFT JOIN pixel_lots AS lot ON lot.pixel_id = queue.pixel_id)"
        " SELECT pixel_id, account_id, platform, attempt FROM known"
        " WHERE next_attempt_at <= :now OR (next_attempt_at IS NULL AND oldest <= :gathered)"
        " ORDER BY COALESCE(next_attempt_at, oldest)"
    )
    .bindparams(bindparam("now", type_=Instant), bindparam("gathered", type_=Instant))
    .columns(pixel_id=Id, account_id=Id, platform=Text, attempt=Integer)
)


@dataclass(frozen=True, slots=True)
class ClaimedLot:
    """A lot with an attempt in flight."""

    pixel_id: UUID
    last_event: UUID
    attempt: int
    leased_until: datetime
    """To settle it, the lot must still have this lease."""

    @property
    def id(self) -> UUID:
        """A pixel has one lot at a time."""
        return self.pixel_id


@dataclass(frozen=True, slots=True)
class StoredEvent:
    id: UUID
    platform: str
    event: PageView


@dataclass(frozen=True, slots=True)
class LotOutcome:
    """The outcome of an attempt."""

    claimed: ClaimedLot
    new: EventResults
    events: Sequence[UUID] = ()
    """Those that are finished."""
    next_attempt_at: datetime | None = None
    """None when all are finished."""


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


async def events_of(tx: Tx, claimed: ClaimedLot) -> list[StoredEvent]:
    lot = select(_E.id, _E.platform, _E.payload).where(_E.pixel_id == claimed.pixel_id, _E.id <= claimed.last_event)
    rows = await tx.execute(lot.order_by(_E.id).limit(LOT))
    return [StoredEvent(row.id, row.platform, PageView(*json.loads(row.payload))) for row in rows]


async def settle(tx: Tx, outcomes: Sequence[LotOutcome]) -> None:
    """An attempt that lost its lease changes nothing."""
    await lock(tx)
    for each in outcomes:
        of = each.claimed
        mine = (_L.pixel_id == of.pixel_id, _L.leased_until == of.leased_until)
        if each.next_attempt_at is None:
            settled = await tx.execute(delete(pixel_lots).where(*mine))
        else:
            later = {"leased_until": None, "next_attempt_at": each.next_attempt_at}
            settled = await tx.execute(update(pixel_lots).where(*mine).values(later))
        if settled.rowcount:
            await tx.execute(delete(pixel_events).where(_E.id.in_(each.events)))
            await add_results(tx, of.pixel_id, each.new)


async def _in_flight(tx: Tx, now: datetime) -> list[QueuedPixel]:
    known = select(pixels.c.id, pixels.c.account_id, pixels.c.platform, _L.attempts)
    rows = await tx.execute(known.join(pixel_lots, _L.pixel_id == pixels.c.id).where(_L.leased_until > now))
    return [QueuedPixel(*row) for row in rows]


async def _claimed(tx: Tx, pixel: QueuedPixel, until: datetime) -> ClaimedLot:
    values = {"attempts": pixel.attempt, "next_attempt_at": until, "leased_until": until}
    of_pixel = _L.pixel_id == pixel.pixel_id
    if pixel.attempt > 1:
        last = await tx.execute(update(pixel_lots).where(of_pixel).values(values).returning(_L.last_event))
        return ClaimedLot(pixel.pixel_id, last.scalar_one(), pixel.attempt, until)
    ids = select(_E.id).where(_E.pixel_id == pixel.pixel_id).order_by(_E.id).limit(LOT)
    last_event = list(await tx.scalars(ids))[-1]
    await tx.execute(insert(pixel_lots), {"pixel_id": pixel.pixel_id, "last_event": last_event} | values)
    return ClaimedLot(pixel.pixel_id, last_event, pixel.attempt, until)
