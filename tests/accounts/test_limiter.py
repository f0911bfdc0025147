"""R15: exactly so many requests in any minute, in a file and in PostgreSQL alike."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psycopg
import pytest
from measured import increases

from waypost.accounts import RateLimiter
from waypost.accounts.limits.file_limiter import FileRateLimiter
from waypost.accounts.limits.limiter import RateLimitResult
from waypost.accounts.limits.postgres_limiter import PostgresRateLimiter, new_pool

MICROSECOND = 1_000
SECOND = 1_000_000_000
WINDOW = 60 * SECOND
START = 86_400 * SECOND

FAKE_CLOCK = """
CREATE SCHEMA fake;
CREATE TABLE fake.clock AS SELECT 0::bigint AS microseconds;
CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$
  BEGIN RETURN timestamptz '2030-01-01Z' + (SELECT microseconds FROM fake.clock) * interval '1 microsecond'; END $$
"""


class Now:
    """A clock in nanoseconds that only moves when it is set."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> int:
        return self.at


@pytest.fixture
def now() -> Now:
    return Now()


class ClockedLimiter(RateLimiter):
    """Sets the clock of PostgreSQL before each request."""

    def __init__(self, limiter: RateLimiter, set_clock: Callable[[], Awaitable[None]]) -> None:
        super().__init__(limiter.limit)
        self._limiter = limiter
        self._set_clock = set_clock

    async def _check(self, key: bytes) -> RateLimitResult:
        await self._set_clock()
        return await self._limiter._check(key)


@pytest.fixture(params=["file", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Empty for a file."""
    return "" if request.param == "file" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def limiter(url: str, tmp_path: Path, now: Now) -> AsyncIterator[RateLimiter]:
    if not url:
        yield FileRateLimiter(tmp_path / "run" / "limits", limit=60, clock=now)
        return
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as admin:
        await admin.execute(FAKE_CLOCK)

        async def set_clock() -> None:
            await admin.execute("UPDATE fake.clock SET microseconds = %s", [now.at // MICROSECOND])

        connections = new_pool(f"{url}&options=-csearch_path%3Dfake,public,pg_catalog")
        limiter = PostgresRateLimiter(connections, "limits", limit=60, clock=lambda: now.at / SECOND)
        yield ClockedLimiter(limiter, set_clock)
        await connections.close()
        await admin.execute("DROP SCHEMA fake CASCADE")


async def test_allows_requests_up_to_the_limit(limiter: RateLimiter) -> None:
    taken = [await limiter.take(b"alice") for _ in range(61)]
    assert [each.allowed for each in taken] == [True] * 60 + [False]
    assert [each.remaining for each in taken] == [*range(59, -1, -1), 0]
    assert taken[-1].retry_after == 60
    assert (await limiter.take(b"bob")).remaining == 59


async def test_the_window_rolls_exactly(limiter: RateLimiter, now: Now) -> None:
    for _ in range(60):
        assert (await limiter.take(b"alice")).allowed
        now.at += SECOND // 2
    now.at = START + WINDOW - MICROSECOND
    assert not (await limiter.take(b"alice")).allowed
    now.at = START + WINDOW
    assert (await limiter.take(b"alice")).allowed
    refused = await limiter.take(b"alice")
    assert (refused.allowed, refused.retry_after) == (False, 1)


async def test_a_refused_request_is_not_counted(limiter: RateLimiter, now: Now) -> None:
    for _ in range(60):
        await limiter.take(b"alice")
    for _ in range(120):
        now.at += SECOND // 3
        assert not (await limiter.take(b"alice")).allowed
    now.at = START + WINDOW
    assert (await limiter.take(b"alice")).remaining == 59


async def test_no_window_has_more_than_the_limit(limiter: RateLimiter, now: Now) -> None:
    allowed = []
    for step in range(2_000):
        now.at = START + step * 131 * SECOND // 1000 + step % 7 * MICROSECOND
        if (await limiter.take(b"alice")).allowed:
            allowed.append(now.at)
    assert all(later - first >= WINDOW for first, later in zip(allowed, allowed[60:], strict=False))
    assert len(allowed) > 240


async def test_waits_for_the_oldest_request(limiter: RateLimiter, now: Now) -> None:
    for _ in range(60):
        await limiter.take(b"alice")
        now.at += SECOND // 2
    now.at = START + 45 * SECOND + MICROSECOND
    assert [(await limiter.take(b"alice")).retry_after for _ in range(2)] == [15, 15]


async def test_counts_checks_by_result(limiter: RateLimiter) -> None:
    with increases() as increased:
        for _ in range(62):
            await limiter.take(b"key")
    name = "waypost_rate_limit_checks_total"
    assert increased == {f"{name} allowed": 60, f"{name} refused": 2}
