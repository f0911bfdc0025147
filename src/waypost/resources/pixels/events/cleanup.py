"""Deletes, in small groups, events that cannot be sent: of deleted pixels, and more than a pixel may have pending."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Integer, bindparam, delete, select, text

from waypost.database import Database, Id, Tx
from waypost.kit.clock import Clock
from waypost.resources.pixels.events import queue
from waypost.resources.pixels.events.model import pixel_events, pixel_lots
from waypost.resources.pixels.events.results import EventResults, add_results

WAITING_AT_MOST = 10_000
"""Events of a pixel."""
_AT_ONCE = 2_000
_TOO_MANY = "more events were pending than are stored"

_E = pixel_events.c

# ruff: noqa: S608  # built only from constants
_ORPHANED = text(
    f"{queue.QUEUES} SELECT pixel_id FROM queue WHERE pixel_id IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM pixels WHERE pixels.id = queue.pixel_id)"
    " UNION ALL SELECT pixel_id FROM pixel_lots"
    " WHERE NOT EXISTS (SELECT 1 FROM pixels WHERE pixels.id = pixel_lots.pixel_id) LIMIT 1"
).columns(pixel_id=Id)
_OVERFULL = (
    text(
        f"{queue.QUEUES} SELECT pixel_id FROM queue WHERE EXISTS (SELECT e.id FROM pixel_events AS e"
        " WHERE e.pixel_id = queue.pixel_id ORDER BY e.id LIMIT 1 OFFSET :kept) LIMIT 1"
    )
    .bindparams(bindparam("kept", type_=Integer))
    .columns(pixel_id=Id)
)


async def delete_unsendable(db: Database, *, clock: Clock) -> bool:
    """Delete one group. False when there was none."""
    async with db.read() as tx:
        orphaned = (await tx.execute(_ORPHANED)).scalar_one_or_none()
        overfull = orphaned or (await tx.execute(_OVERFULL, {"kept": WAITING_AT_MOST})).scalar_one_or_none()
    if overfull is None:
        return False
    async with db.write() as tx:
        await queue.lock(tx)
        await (_delete_all(tx, orphaned) if orphaned else _drop_newest(tx, overfull, clock()))
    return True


async def _delete_all(tx: Tx, pixel_id: UUID) -> None:
    some = select(_E.id).where(_E.pixel_id == pixel_id).order_by(_E.id).limit(_AT_ONCE)
    await tx.execute(delete(pixel_lots).where(pixel_lots.c.pixel_id == pixel_id))
    await tx.execute(delete(pixel_events).where(_E.id.in_(some)))


async def _drop_newest(tx: Tx, pixel_id: UUID, now: datetime) -> None:
    """Not those of the lot that is in flight."""
    waiting = select(_E.id).where(_E.pixel_id == pixel_id).order_by(_E.id)
    beyond = waiting.offset(WAITING_AT_MOST).limit(_AT_ONCE)
    dropped = (await tx.execute(delete(pixel_events).where(_E.id.in_(beyond)))).rowcount
    await add_results(tx, pixel_id, EventResults(dropped=dropped, reason=_TOO_MANY, reason_at=now))
