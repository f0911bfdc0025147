"""Rate limits of all nodes: a sliding log in a row per key, changed by one statement under the row's lock.

Time is the database server's, so that clocks of nodes do not matter. PostgreSQL writes no log of the table and empties
it after a crash.
"""

import asyncio
import math
import time
from collections.abc import Callable
from functools import partial
from hashlib import blake2b

from sqlalchemy import text

from waypost.accounts.limits.limiter import RateLimiter, RateLimitResult
from waypost.database import Database
from waypost.database.pool import Pool
from waypost.database.postgres import PostgresConnection
from waypost.metrics import Gauge

_CONNECTIONS = 4  # of their own: the statement is frequent
_TIMEOUT = 2.0  # seconds for waiting and the statement
_SETTINGS = (
    "SET plan_cache_mode = force_generic_plan; SET default_transaction_isolation = 'read committed';"
    " SET lock_timeout = '2s'"  # ends a statement on the server, too
)
_MAX_REFUSED = 10_000
_DELETE_BATCH_SIZE = 10_000

TAKE = """
INSERT INTO rate_limits AS kept (key, times, allowed)
VALUES (
  %(key)b, array_fill(clock_timestamp(), ARRAY[least(%(count)s, %(limit)s)::int]), least(%(count)s, %(limit)s)
)
ON CONFLICT (key) DO UPDATE SET (times, allowed) = (
  SELECT recent || array_fill(greatest(now, recent[cardinality(recent)]), ARRAY[free]), free
  FROM (SELECT clock_timestamp() AS now) AS clock
  CROSS JOIN LATERAL (
    SELECT CASE WHEN kept.times[cardinality(kept.times)] <= now + interval '1 minute'
      THEN kept.times[width_bucket(now - interval '1 minute', kept.times) + 1:] ELSE '{}' END AS recent OFFSET 0
  ) AS log
  CROSS JOIN LATERAL (SELECT greatest(least(%(count)s, %(limit)s - cardinality(recent)), 0) AS free) AS decision
)
RETURNING allowed, cardinality(times), extract(epoch FROM times[1] + interval '1 minute' - clock_timestamp())::float8
"""
"""Times ascend, so `width_bucket` counts by binary search those that have left the window. A time beyond the window is
from before the server's clock was set back.
"""

_LIMIT_TRANSACTION = text("SELECT set_config('idle_in_transaction_session_timeout', '5s', TRUE)")
"""A paused node would otherwise hold its locks, and requests with these keys would fail."""

_DELETE_IDLE = text("""
DELETE FROM rate_limits WHERE key = ANY (ARRAY(
  SELECT key FROM rate_limits WHERE times[cardinality(times)] <= clock_timestamp() - interval '1 minute'
  LIMIT :batch_size FOR UPDATE SKIP LOCKED
))
""")


class _Batch:
    """Requests with one key that share a statement."""

    size = 0
    result: "asyncio.Task[tuple[int, int, float]]"
    """(allowed requests of the batch, requests in the window, seconds until the oldest of them leaves it)."""


class PostgresRateLimiter(RateLimiter):
    """While a statement of a key runs, further requests with the key wait for the next one together."""

    def __init__(
        self,
        connections: Pool[PostgresConnection],
        name: str,
        *,
        limit: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`connections`: one at a time for a key; `name`: separates the keys of limiters."""
        super().__init__(limit)
        self._connections = connections
        self._name = name.encode()
        self._clock = clock
        self._open: dict[bytes, _Batch] = {}
        """By digest of the key, like the next."""
        self._refused_until: dict[bytes, float] = {}
        """Nothing shortens the wait, so until then the key needs no statement."""

    async def _check(self, key: bytes) -> RateLimitResult:
        digest = blake2b(key, digest_size=16, person=self._name).digest()
        if (wait := self._remaining_wait(digest)) > 0:
            return _refusal(wait)
        batch = self._open.get(digest)
        if batch is None:
            batch = self._open[digest] = _Batch()
            batch.result = asyncio.create_task(self._run(digest, batch))
        batch.size += 1
        number = batch.size
        allowed, count, wait = await asyncio.shield(batch.result)  # a cancelled request must not cancel the others
        if number > allowed:
            return _refusal(wait)
        return RateLimitResult(allowed=True, remaining=self.limit - count + allowed - number, retry_after=0)

    async def _run(self, digest: bytes, batch: _Batch) -> tuple[int, int, float]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _TIMEOUT
        try:
            async with self._connections.connection(digest) as connection:
                del self._open[digest]
                began = self._clock()
                if (wait := self._remaining_wait(digest)) > 0:
                    return 0, self.limit, wait
                timer = loop.call_at(deadline, connection.give_up)
                try:
                    values = {"key": digest, "count": batch.size, "limit": self.limit}
                    _, [(allowed, count, wait)] = await connection.execute(TAKE, values)
                finally:
                    timer.cancel()
                if count >= self.limit:
                    if len(self._refused_until) >= _MAX_REFUSED:
                        self._refused_until.clear()
                    self._refused_until[digest] = began + wait
                return allowed, count, wait
        finally:
            if self._open.get(digest) is batch:
                del self._open[digest]

    def _remaining_wait(self, digest: bytes) -> float:
        return self._refused_until.get(digest, 0.0) - self._clock()


def new_pool(url: str) -> Pool[PostgresConnection]:
    new = partial(PostgresConnection, url, settings=_SETTINGS)
    return Pool(url, new, size=_CONNECTIONS, per_key=1, timeout=_TIMEOUT)


class PostgresLimiters:
    """Limiters of a process with the same few connections."""

    def __init__(self, url: str) -> None:
        self._connections = new_pool(url)

    def new(self, name: str, *, limit: int, slots: int = 0) -> RateLimiter:  # noqa: ARG002  # of the file
        return PostgresRateLimiter(self._connections, name, limit=limit)

    def gauges(self) -> list[Gauge]:
        return self._connections.gauges("limits")

    async def close(self) -> None:
        await self._connections.close()


async def delete_idle(db: Database) -> bool:
    """Delete some rows without a request in the last minute. Return whether there may be more."""
    async with db.write() as tx:
        await tx.execute(_LIMIT_TRANSACTION)
        deleted = await tx.execute(_DELETE_IDLE, {"batch_size": _DELETE_BATCH_SIZE})
    return deleted.rowcount == _DELETE_BATCH_SIZE


def _refusal(wait: float) -> RateLimitResult:
    return RateLimitResult(allowed=False, remaining=0, retry_after=max(1, math.ceil(wait)))
