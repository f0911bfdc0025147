"""Takes away from the log the deliveries that ended long ago, in small groups.

Refuses to take what is pending, however old it is.
"""

import math
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import bindparam, delete, select

from waypost.database import Database, Id
from waypost.kit.clock import Clock, microseconds
from waypost.resources.webhooks.delivery import queue
from waypost.resources.webhooks.model import webhook_deliveries

KEPT = timedelta(days=30)
_EVERY = 3600.0  # seconds
_AT_ONCE = 1_000  # rows

_D = webhook_deliveries.c
_OLD = (
    select(_D.id)
    .where(_D.id < bindparam("first_kept", type_=Id), _D.status != "pending")
    .order_by(_D.id)
    .limit(bindparam("at_once"))
)
# asked again of each row: on PostgreSQL one may be delivered anew meanwhile
_DELETION = delete(webhook_deliveries).where(_D.id.in_(_OLD), _D.status != "pending")


class LogRetention:
    """A poller."""

    def __init__(
        self,
        db: Database,
        *,
        clicks_kept: int | None = None,
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
        at_once: int = _AT_ONCE,
    ) -> None:
        """`clicks_kept`: days, where clicks are not kept for ever; what tells of them is kept no longer."""
        self._kept = KEPT if clicks_kept is None else min(KEPT, timedelta(days=clicks_kept))
        self._db = db
        self._clock = clock
        self._monotonic = monotonic
        self._at_once = at_once
        self._next = -math.inf

    async def step(self) -> bool:
        """Deletes one group of rows. False when there was none, or it is not time yet."""
        if self._monotonic() < self._next:
            return False
        if await self._delete(_first_id(self._clock() - self._kept)):
            return True
        self._next = self._monotonic() + _EVERY
        return False

    async def _delete(self, first_kept: UUID) -> bool:
        async with self._db.read() as tx:  # mostly there is nothing to do, and looking takes no write lock
            if not (await tx.execute(_OLD, {"first_kept": first_kept, "at_once": 1})).first():
                return False
        async with self._db.write() as tx:
            await queue.lock(tx)
            await tx.execute(_DELETION, {"first_kept": first_kept, "at_once": self._at_once})
        return True


def _first_id(at: datetime) -> UUID:
    """No delivery of that millisecond or later has a smaller one."""
    return UUID(int=microseconds(at) // 1_000 << 80)
