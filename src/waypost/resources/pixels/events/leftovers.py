"""Deletes, in small groups, events that nobody will send: of pixels that are gone, and more than a pixel may have."""

import math
import time
from collections.abc import Callable
from uuid import UUID

from sqlalchemy import Integer, bindparam, delete, select, text

from waypost.database import Database, Id, Tx
from waypost.kit.clock import Clock
from waypost.resources.pixels.events import queue
from waypost.resources.pixels.events.model import pixel_events, pixel_lots
from waypost.resources.pixels.events.results import Results, note

WAITING_AT_MOST = 10_000
"""Events of a pixel."""
_AT_ONCE = 2_000
_EVERY = 10.0  # seconds
_TOO_MANY = "more events waited than are kept"

_E = pixel_events.c

# ruff: noqa: S608  # put together from texts of our own
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


class Leftovers:
    """A poller."""

    def __init__(self, db: Database, *, clock: Clock, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._clock = clock
        self._monotonic = monotonic
        self._next = -math.inf

    async def step(self) -> bool:
        """Deletes one group. False when there was none, or it is not time yet."""
        if self._monotonic() < self._next:
            return False
        async with self._db.read() as tx:
            orphaned = (await tx.execute(_ORPHANED)).scalar_one_or_none()
            overfull = orphaned or (await tx.execute(_OVERFULL, {"kept": WAITING_AT_MOST})).scalar_one_or_none()
        if overfull is None:
            self._next = self._monotonic() + _EVERY
            return False
        async with self._db.write() as tx:
            await queue.lock(tx)
            await (self._drop_all(tx, orphaned) if orphaned else self._drop_newest(tx, overfull))
        return True

    async def _drop_all(self, tx: Tx, pixel_id: UUID) -> None:
        some = select(_E.id).where(_E.pixel_id == pixel_id).order_by(_E.id).limit(_AT_ONCE)
        await tx.execute(delete(pixel_lots).where(pixel_lots.c.pixel_id == pixel_id))
        await tx.execute(delete(pixel_events).where(_E.id.in_(some)))

    async def _drop_newest(self, tx: Tx, pixel_id: UUID) -> None:
        """Not those of the lot that is under way."""
        waiting = select(_E.id).where(_E.pixel_id == pixel_id).order_by(_E.id)
        beyond = waiting.offset(WAITING_AT_MOST).limit(_AT_ONCE)
        dropped = (await tx.execute(delete(pixel_events).where(_E.id.in_(beyond)))).rowcount
        await note(tx, pixel_id, Results(dropped=dropped, reason=_TOO_MANY, reason_at=self._clock()))
