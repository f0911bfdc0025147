"""Rate limits: exactly so many requests in any minute. All nodes share them on PostgreSQL, all processes on SQLite."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from waypost.kit.errors import RateLimited
from waypost.metrics import Counter

REQUESTS_PER_MINUTE = 60
UNKNOWN_PER_MINUTE = 600
"""Requests without a usable key, per IP address."""

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
