"""Finds the links whose destinations are to be visited, and starts the job when one is due. Loads nothing else."""

from datetime import datetime, timedelta
from hashlib import blake2b
from uuid import UUID

from waypost.database import Database, Tx
from waypost.kit.clock import DAY, Clock, from_microseconds, microseconds
from waypost.resources.links.health import store
from waypost.resources.links.health.model import LinkHealth
from waypost.worker import jobs
from waypost.worker.jobs import JobKind, JobQueue

_SEEN_AT_ONCE = 2_000
_FIRST = UUID(int=0)
JOB_ID = UUID("0199c0de-0000-7000-8000-6c696e6b6865")
"""Of the only job of this kind."""
CHECK_JOB = JobKind(
    "links.check_health",
    JobQueue("link_checks", slots=1, per_account=1, poll_interval=30.0, timeout=timedelta(minutes=5)),
    max_attempts=None,
)


class HealthSchedule:
    def __init__(self, db: Database, days: int, clock: Clock) -> None:
        self._db = db
        self._days = days
        self._clock = clock
        self._seen = _FIRST

    async def step(self) -> bool:
        """Look at the next links, and start the job if one is due. Some links at a time: it has a week."""
        await self.add_next()
        now = self._clock()
        async with self._db.read() as tx:
            due = await store.find_next_due(tx)
        if due and due <= now:
            async with self._db.write() as tx:
                await start(tx, now)
        return False

    async def add_next(self) -> bool:
        """Return whether there are more links."""
        now = self._clock()
        async with self._db.read() as tx:
            seen = await store.list_after(tx, self._seen, _SEEN_AT_ONCE)
        new = [each for each in seen if not each.has_row]
        if new:
            async with self._db.write() as tx:
                await store.add(
                    tx,
                    [
                        LinkHealth(each.id, each.account_id, next_regular_visit(each.destination_url, now, self._days))
                        for each in new
                    ],
                )
        has_more = len(seen) == _SEEN_AT_ONCE
        self._seen = seen[-1].id if has_more else _FIRST
        return has_more


async def start(tx: Tx, now: datetime) -> None:
    """Have the job run now, unless it runs."""
    await jobs.enqueue_once(tx, CHECK_JOB, {}, JOB_ID, now=now)


def next_regular_visit(url: str, after: datetime, days: int) -> datetime:
    """Return the next of the times, `days` apart, at which this URL is visited: links that share one share them.

    The URL decides, so that visits spread over the days.
    """
    period = days * DAY
    phase = int.from_bytes(blake2b(url.encode(), digest_size=8).digest()) % period
    at = microseconds(after)
    return from_microseconds(at + 1 + (phase - at - 1) % period)
