"""Rate limits: exactly so many requests in any minute. All nodes share them on PostgreSQL, all processes on SQLite."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from waypost.database import Database
from waypost.kit.errors import RateLimited
from waypost.metrics import Counter, Gauge
from waypost.worker.run import Periodic

REQUESTS_PER_MINUTE = 60
UNKNOWN_PER_MINUTE = 600
"""Requests without a usable key, per IP address."""

_DELETE_INTERVAL = 30  # seconds
_CHECKS = Counter(
    "waypost_rate_limit_checks_total",
    "Checks of rate limits by result.",
    ("result",),
    starts=[("allowed",), ("refused",)],
)


@dataclass(frozen=True, slots=True)
class RateLimitResult:
    allowed: bool
    remaining: int
    retry_after: int
    """Seconds until the next request is allowed; 0 when this one is."""


class RateLimiter(ABC):
    def __init__(self, limit: int) -> None:
        """`limit`: requests of a key in any minute."""
        self.limit = limit

    async def take(self, key: bytes) -> RateLimitResult:
        """Count a request if it is allowed: a refused request does not extend the wait. Raises Unavailable."""
        result = await self._check(key)
        _CHECKS.add(1, "allowed" if result.allowed else "refused")
        return result

    @abstractmethod
    async def _check(self, key: bytes) -> RateLimitResult:
        """See `take`."""

    async def require(self, key: bytes) -> None:
        """Count a request. Raises RateLimited and Unavailable."""
        result = await self.take(key)
        if not result.allowed:
            raise RateLimited(result.retry_after)


class RateLimiters(Protocol):
    """Creates the limiters of a process."""

    def new(self, name: str, *, limit: int, slots: int = 65_536) -> RateLimiter:
        """`name`: at most 16 characters; `slots`: keys in a minute that a file has space for."""

    def gauges(self) -> Iterable[Gauge]: ...

    async def close(self) -> None: ...


def open_limiters(db: Database, data_dir: Path) -> RateLimiters:
    # imported here: a process needs one of the two
    if db.dialect == "postgresql":
        from waypost.accounts.limits.postgres_limiter import PostgresLimiters  # noqa: PLC0415

        return PostgresLimiters(db.url)
    from waypost.accounts.limits.file_limiter import FileLimiters  # noqa: PLC0415

    return FileLimiters(data_dir / "run")


def rate_limit_steps(db: Database) -> list[Periodic]:
    """What the worker runs."""
    if db.dialect == "sqlite":
        return []
    from waypost.accounts.limits.postgres_limiter import delete_idle  # noqa: PLC0415

    return [(_DELETE_INTERVAL, partial(delete_idle, db))]
