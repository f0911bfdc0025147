"""Gauges of pending deliveries, for /metrics."""

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

CACHE_SECONDS = 5.0
"""How long a count is cached: counting a million pending deliveries takes 0.1 s."""
_deliveries = webhook_deliveries.c

log = structlog.get_logger(__name__)


class PendingGauges:
    def __init__(self, db: Database, *, clock: Clock, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._clock = clock
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._stale_at = 0.0
        self._counted: tuple[int, datetime | None] | None = None
        self._is_unavailable = False

    async def gauges(self) -> Sequence[Gauge]:
        """Return no gauges while the database is unavailable."""
        async with self._lock:
            if self._monotonic() >= self._stale_at:
                self._counted = await self._count()
                self._stale_at = self._monotonic() + CACHE_SECONDS
        if self._counted is None:
            return []
        count, since = self._counted
        age = max(0.0, (self._clock() - since).total_seconds()) if since else 0.0
        return [
            Gauge("waypost_webhook_pending", "Pending deliveries.", count),
            Gauge("waypost_webhook_oldest_pending_seconds", "Age of the oldest pending event, or 0.", age),
        ]

    async def _count(self) -> tuple[int, datetime | None] | None:
        try:
            async with self._db.read() as tx:
                counted = await count_pending(tx)
        except Unavailable as error:
            if not self._is_unavailable:
                log.warning("pending deliveries cannot be counted", error=error.message)
            self._is_unavailable = True
            return None
        self._is_unavailable = False
        return counted


async def count_pending(tx: Tx) -> tuple[int, datetime | None]:
    """Return the count and the time of the oldest event, to the millisecond. Reads only an index."""
    row = (await tx.execute(pending_query(tx.dialect.name))).one()
    return row.pending_count, from_microseconds(int(row.first[:12], 16) * 1_000) if row.first else None


def pending_query(dialect: str) -> Select[int, Any]:
    """Count deliveries and find the smallest id, which begins with the oldest event's time.

    Compares text: PostgreSQL before 18 has no min() of UUID.
    """
    as_text = (
        func.hex(_deliveries.id)
        if dialect == "sqlite"
        else func.replace(cast(_deliveries.id, Text), "-", "").collate("C")
    )
    pending_count, first = func.count().label("pending_count"), func.min(as_text).label("first")
    return select(pending_count, first).where(_deliveries.status == "pending")
