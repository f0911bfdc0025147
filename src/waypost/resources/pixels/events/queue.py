"""The queue's statements. Claim a lot under a lease, counting the attempt before anything is sent; settle afterwards.

Each pixel is a queue of its own: a claim steps from one to the next by index, so that what waits for one of them costs
the others nothing. Of a process that dies the lease runs out, and the next claim takes the same lot again.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Integer, Text, bindparam, delete, insert, select, text, update

from waypost.database import Id, Instant, Tx, take
from waypost.resources.pixels.events.model import Event, pixel_events, pixel_lots
from waypost.resources.pixels.events.places import Places, Turn
from waypost.resources.pixels.events.results import Results, note
from waypost.resources.pixels.model import pixels

LOT = 500
"""Events of one request. Each platform takes 1,000, but one bad event can cost all of its request."""
GATHERING = timedelta(seconds=5)
"""From a lot's oldest event until it is sent: requests are dearer than events."""

_E, _L = pixel_events.c, pixel_lots.c
_LOCK = 0x706978656C73  # "pixels"

# ruff: noqa: S608  # put together from the texts below alone
QUEUES = (
    "WITH RECURSIVE queue (pixel_id) AS (SELECT (SELECT pixel_id FROM pixel_events ORDER BY pixel_id, id LIMIT 1)"
    " UNION ALL SELECT (SELECT e.pixel_id FROM pixel_events AS e WHERE e.pixel_id > queue.pixel_id"
    " ORDER BY e.pixel_id, e.id LIMIT 1) FROM queue WHERE pixel_id IS NOT NULL)"
)
"""The pixels that any event waits for, and a null."""
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
class Claimed:
    """A lot with an attempt under way."""

    pixel_id: UUID
    last_event: UUID
    attempt: int
    leased_until: datetime
    """Whoever settles must still have this lease."""


@dataclass(frozen=True, slots=True)
class Waiting:
    id: UUID
    platform: str
    event: Event


@dataclass(frozen=True, slots=True)
class Settled:
    """What came of an attempt."""

    claimed: Claimed
    new: Results
    events: Sequence[UUID] = ()
    """Those that are over."""
    next_attempt_at: datetime | None = None
    """Of those that are not; None when all are."""


async def lock(tx: Tx) -> None:
    """For whoever changes lots, or deletes events: until the transaction ends, nobody else does."""
    await take(tx, _LOCK)


async def due(tx: Tx, now: datetime) -> list[Turn]:
    """Pixels whose turn it is, of those that wait longest first. Takes no write lock."""
    places = Places(await _under_way(tx, now))
    rows = await tx.execute(_DUE, {"now": now, "gathered": now - GATHERING})
    return [turn for turn in (Turn(*row) for row in rows) if places.take(turn)]


async def claim(tx: Tx, *, now: datetime, lease: timedelta) -> list[Claimed]:
    """The caller holds `lock`."""
    until = now + lease
    return [await _claimed(tx, turn, until) for turn in await due(tx, now)]


async def events_of(tx: Tx, claimed: Claimed) -> list[Waiting]:
    lot = select(_E.id, _E.platform, _E.payload).where(_E.pixel_id == claimed.pixel_id, _E.id <= claimed.last_event)
    rows = await tx.execute(lot.order_by(_E.id).limit(LOT))
    return [Waiting(row.id, row.platform, Event(*json.loads(row.payload))) for row in rows]


async def settle(tx: Tx, outcomes: Sequence[Settled]) -> None:
    """Whoever lost the lease changes nothing. The caller holds `lock`."""
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
            await note(tx, of.pixel_id, each.new)


async def _under_way(tx: Tx, now: datetime) -> list[Turn]:
    known = select(pixels.c.id, pixels.c.account_id, pixels.c.platform, _L.attempts)
    rows = await tx.execute(known.join(pixel_lots, _L.pixel_id == pixels.c.id).where(_L.leased_until > now))
    return [Turn(*row) for row in rows]


async def _claimed(tx: Tx, turn: Turn, until: datetime) -> Claimed:
    values = {"attempts": turn.attempt, "next_attempt_at": until, "leased_until": until}
    of_pixel = _L.pixel_id == turn.pixel_id
    if turn.attempt > 1:
        last = await tx.execute(update(pixel_lots).where(of_pixel).values(values).returning(_L.last_event))
        return Claimed(turn.pixel_id, last.scalar_one(), turn.attempt, until)
    ids = select(_E.id).where(_E.pixel_id == turn.pixel_id).order_by(_E.id).limit(LOT)
    last_event = list(await tx.scalars(ids))[-1]
    await tx.execute(insert(pixel_lots), {"pixel_id": turn.pixel_id, "last_event": last_event} | values)
    return Claimed(turn.pixel_id, last_event, turn.attempt, until)
