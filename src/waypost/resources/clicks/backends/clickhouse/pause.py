"""Pauses the drainers of all nodes while statistics are compared with clicks.

ClickHouse has no snapshot of several tables. So a drainer begins a batch only if it can share a lock in PostgreSQL, and
ends the batch without it: when somebody else has the lock and no batch is pending, clicks and statistics are complete.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import select, text

from waypost.database import Database, Tx
from waypost.kit.errors import WaypostError
from waypost.resources.clicks.backends.sql import sums
from waypost.resources.clicks.model import spool_positions

_POLL_INTERVAL = 0.1  # seconds
_MAX_POLLS = 300
_ALLOW_IDLE = text("SELECT set_config('idle_in_transaction_session_timeout', '1h', TRUE)")
_PENDING = select(spool_positions.c.segment).where(spool_positions.c.pending_end.is_not(None)).limit(1)


class BatchPending(WaypostError):
    """A node has not finished a batch of clicks."""


@asynccontextmanager
async def paused(db: Database) -> AsyncIterator[Tx]:
    """Hold a transaction during which no batch is being inserted, and retention does not begin.

    Raises BatchPending if a batch is not finished in time, because its node is down.
    """
    async with db.write() as tx:
        await sums.lock(tx)
        await tx.execute(_ALLOW_IDLE)
        for _ in range(_MAX_POLLS):
            async with db.read() as other:
                segment = await other.scalar(_PENDING)
            if segment is None:
                break
            await asyncio.sleep(_POLL_INTERVAL)
        else:
            raise BatchPending(
                f"The batch of clicks from the spool segment {segment} is not finished. Start the worker of its node,"
                " or run waypost spool drain for its spool. Then run this command again."
            )
        yield tx
