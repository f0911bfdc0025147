"""Counts the clicks of tags with many links again and again: a page of tags could not wait for that."""

import time
from datetime import timedelta

from sqlalchemy import select, update

from waypost.database import Database
from waypost.kit.clock import Clock
from waypost.kit.pagination import MAX_PER_PAGE
from waypost.resources.links.tags import store
from waypost.resources.links.tags.model import tags

_FEW_LINKS = store.MAX_SUMMED // MAX_PER_PAGE
"""So many links have their clicks added up whenever a page of tags is read."""
_INTERVAL = timedelta(minutes=10)
_TIME_LIMIT = 2.0  # seconds of one step


class TagClicks:
    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def step(self) -> bool:
        """Count what is due, the oldest first, for a short time: the worker has more to do."""
        end = time.monotonic() + _TIME_LIMIT
        while time.monotonic() < end and await self._count_next():
            pass
        return False

    async def _count_next(self) -> bool:
        now = self._clock()
        is_due = tags.c.links_count > _FEW_LINKS, tags.c.counted_at < now - _INTERVAL
        query = select(tags.c.id, tags.c.account_id, tags.c.name).where(*is_due)
        async with self._db.read() as tx:
            tag = (await tx.execute(query.order_by(tags.c.counted_at).limit(1))).one_or_none()
            clicks = await store.sum_clicks(tx, tag.account_id, tag.name) if tag else 0
        if tag is None:
            return False
        async with self._db.write() as tx:
            await tx.execute(update(tags).where(tags.c.id == tag.id).values(clicks=clicks, counted_at=now))
        return True
