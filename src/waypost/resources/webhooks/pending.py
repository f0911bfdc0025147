"""Gauges of pending deliveries for /metrics, cached for some seconds."""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import Select, Text, cast, func, select

from waypost.database import Database, Tx
from waypost.kit.clock import Clock, from_microseconds
from waypost.kit.errors import Unavailable
from waypost.metrics import Gauge
from waypost.resources.webhooks.model import webhook_deliveries

FRESH = 5.0
"""Seconds for which a count is cached: counting a million pending deliveries takes 0.1 s."""

_D = webhook_deliveries.c

log = structlog.get_logger(__name__)


class PendingGauges:
    def __init__(self, db: Database, *, clock: Clock, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._clock = clock
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._stale_at = 0.0
        self._known: tuple[int, datetime | None] | None = None
        self._is_out = False

    async def gauges(self) -> Sequence[Gauge]:
        """No gauges while the database is unavailable."""
        async with self._lock:
            if self._monotonic() >= self._stale_at:
                self._known = await self._count()
                self._stale_at = self._monotonic() + FRESH
        if self._known is None:
            return []
        count, since = self._known
        age = max(0.0, (self._clock() - since).total_seconds()) if since else 0.0
        return [
            Gauge("waypost_webhook_pending", "Pending deliveries.", count),
            Gauge("waypost_webhook_oldest_pending_seconds", "Age of the oldest pending event, or 0.", age),
        ]

    async def _count(self) -> tuple[int, datetime | None] | None:
        try:
            async with self._db.read() as tx:
                found = await pending(tx)
        except Unavailable as error:
            if not self._is_out:
                log.warning("pending deliveries cannot be counted", error=error.message)
            self._is_out = True
            return None
        self._is_out = False
        return found


async def pending(tx: Tx) -> tuple[int, datetime | None]:
    """(count, time of the oldest event to the millisecond). Reads only the index of pending deliveries."""
    row = (await tx.execute(count_statement(tx.dialect.name))).one()
    return row.pending_count, from_microseconds(int(row.first[:12], 16) * 1_000) if row.first else None


def count_statement(dialect: str) -> Select[int, Any]:
    """The smallest id begins with the oldest event's time. PostgreSQL before 18 has min() of text, not of UUID."""
    as_text = func.hex(_D.id) if dialect == "sqlite" else func.replace(cast(_D.id, Text), "-", "").collate("C")
    pending_count, first = func.count().label("pending_count"), func.min(as_text).label("first")
    return select(pending_count, first).where(_D.status == "pending")
