"""Cancels, in small groups, what a deletion left pending because it was too much for one transaction."""

import math
import time
from collections.abc import Callable

from waypost.database import Database
from waypost.resources.webhooks import store
from waypost.resources.webhooks.delivery import queue

_EVERY = 5.0  # seconds


class Leftovers:
    """A poller."""

    def __init__(self, db: Database, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._monotonic = monotonic
        self._next = -math.inf

    async def step(self) -> bool:
        """Cancels one group. False when there was none, or it is not time yet."""
        if self._monotonic() < self._next:
            return False
        async with self._db.read() as tx:
            webhook_id = await queue.orphaned(tx)
        if webhook_id is None:
            self._next = self._monotonic() + _EVERY
            return False
        async with self._db.write() as tx:
            await queue.lock(tx)
            await store.cancel(tx, webhook_id)
        return True
