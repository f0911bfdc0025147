"""R15: limits that all nodes share, and what they do without their database."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from conftest import PostgresServer

from waypost.accounts import RateLimiter, rate_limit_steps
from waypost.accounts.limits import postgres_limiter
from waypost.accounts.limits.postgres_limiter import PostgresLimiters, delete_idle
from waypost.database import Database
from waypost.database.failures import DatabaseUnavailable
from waypost.database.migrations import migrate
from waypost.kit.errors import Unavailable


@pytest.fixture
async def nodes(postgres_url: str) -> AsyncIterator[list[RateLimiter]]:
    """The same limiter in two processes."""
    opened = [PostgresLimiters(postgres_url) for _ in range(2)]
    yield [each.new("limits", limit=60) for each in opened]
    for each in opened:
        await each.close()


@pytest.fixture
async def admin(postgres_url: str) -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as admin:
        yield admin


async def count_rows(admin: psycopg.AsyncConnection) -> int:
    [[count]] = await (await admin.execute("SELECT count(*) FROM rate_limits")).fetchall()
    return count


async def shift(admin: psycopg.AsyncConnection, interval: str) -> None:
    """Make all requests older, as if time had passed."""
    await admin.execute(
        "UPDATE rate_limits SET times = ARRAY(SELECT at - %s::interval FROM unnest(times) AS at)", [interval]
    )


async def test_two_nodes_share_one_limit(nodes: list[RateLimiter]) -> None:
    taken = await asyncio.gather(*(node.take(b"alice") for _ in range(70) for node in nodes))
    assert sum(each.allowed for each in taken) == 60
    assert sorted(each.remaining for each in taken if each.allowed) == list(range(60))
    assert {each.retry_after for each in taken if not each.allowed} <= {59, 60}


async def test_limiters_count_separately(postgres_url: str) -> None:
    limiters = PostgresLimiters(postgres_url)
    allowed = [(await limiters.new(name, limit=1).take(b"alice")).allowed for name in ("a", "b", "a")]
    assert allowed == [True, True, False]
    await limiters.close()


async def test_a_refused_key_costs_no_statement(nodes: list[RateLimiter], admin: psycopg.AsyncConnection) -> None:
    for _ in range(61):
        await nodes[0].take(b"alice")
    assert not (await nodes[1].take(b"alice")).allowed
    await admin.execute("DROP TABLE rate_limits")
    assert [(await node.take(b"alice")).allowed for node in nodes] == [False, False]


async def test_the_wait_survives_requests_of_other_nodes(
    nodes: list[RateLimiter], admin: psycopg.AsyncConnection
) -> None:
    for _ in range(30):
        for node in nodes:
            await node.take(b"alice")
    await shift(admin, "30 seconds")
    assert 1 <= (await nodes[0].take(b"alice")).retry_after <= 30


async def test_a_clock_set_back_by_hours_forgets_the_log(
    nodes: list[RateLimiter], admin: psycopg.AsyncConnection
) -> None:
    await nodes[0].take(b"alice")
    await shift(admin, "-30 seconds")
    assert (await nodes[0].take(b"alice")).remaining == 58
    await shift(admin, "-2 hours")
    assert (await nodes[0].take(b"alice")).remaining == 59


async def test_the_log_keeps_no_more_times_than_the_limit(
    nodes: list[RateLimiter], admin: psycopg.AsyncConnection
) -> None:
    for _ in range(4):
        for _ in range(20):
            await nodes[0].take(b"alice")
        await shift(admin, "21 seconds")
    [[length]] = await (await admin.execute("SELECT cardinality(times) FROM rate_limits")).fetchall()
    assert length == 60


async def test_a_blocked_key_blocks_no_other(
    nodes: list[RateLimiter], admin: psycopg.AsyncConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_limiter, "_TIMEOUT", 0.5)
    node = nodes[0]
    await node.take(b"alice")
    async with admin.transaction():
        await admin.execute("SELECT 1 FROM rate_limits FOR UPDATE")
        blocked = [asyncio.create_task(node.take(b"alice")) for _ in range(32)]
        others = await asyncio.gather(*(node.take(b"%d" % number) for number in range(100)))
        assert all(other.allowed for other in others)
        results = await asyncio.gather(*blocked, return_exceptions=True)
    assert Counter(isinstance(result, Unavailable) for result in results) == {True: 32}
    assert (await node.take(b"alice")).allowed


async def test_shows_the_use_of_its_connections(postgres_url: str, admin: psycopg.AsyncConnection) -> None:
    limiters = PostgresLimiters(postgres_url)
    limiter = limiters.new("limits", limit=60)

    def gauges() -> list[float]:
        return [gauge.value for gauge in limiters.gauges()]

    async with admin.transaction():
        await admin.execute("LOCK TABLE rate_limits IN ACCESS EXCLUSIVE MODE")
        taking = [asyncio.create_task(limiter.take(b"key %d" % number)) for number in range(6)]
        while gauges() != [4, 4, 2]:
            await asyncio.sleep(0)
    await asyncio.gather(*taking)
    assert gauges() == [4, 0, 0]
    await limiters.close()


async def test_deletes_idle_rows(
    nodes: list[RateLimiter], admin: psycopg.AsyncConnection, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = Database(postgres_url)
    for number in range(5):
        await nodes[0].take(b"%d" % number)
    assert not await delete_idle(db)
    assert await count_rows(admin) == 5
    await shift(admin, "1 minute")
    await nodes[0].take(b"0")
    monkeypatch.setattr("waypost.accounts.limits.postgres_limiter._DELETE_BATCH_SIZE", 3)
    assert [await delete_idle(db), await delete_idle(db)] == [True, False]
    assert await count_rows(admin) == 1
    await db.close()


def test_only_workers_on_postgresql_delete_rows(postgres_url: str) -> None:
    assert rate_limit_steps(Database("sqlite:///unused.db")) == []
    assert len(rate_limit_steps(Database(postgres_url))) == 1


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A cluster of the test's own, to be stopped."""
    directory = Path(tempfile.mkdtemp(prefix="waypost-pg-"))
    directory.chmod(0o777)
    server = PostgresServer(directory)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(directory)


async def test_a_database_that_stops_and_returns(server: PostgresServer) -> None:
    url = server.url("postgres")
    db = Database(url)
    await migrate(db)
    await db.close()
    limiters = PostgresLimiters(url)
    limiter = limiters.new("limits", limit=60)
    assert (await limiter.take(b"alice")).remaining == 59
    server.stop()
    for _ in range(2):
        with pytest.raises(DatabaseUnavailable):
            await limiter.take(b"alice")
    server.start_again()
    assert (await limiter.take(b"alice")).remaining == 59  # PostgreSQL emptied the table
    await limiters.close()


async def test_lost_connections_are_replaced(nodes: list[RateLimiter], admin: psycopg.AsyncConnection) -> None:
    await asyncio.gather(*(nodes[0].take(b"%d" % number) for number in range(4)))
    for pid in await backends(admin):
        await admin.execute("SELECT pg_terminate_backend(%s)", [pid])
    assert (await nodes[0].take(b"alice")).allowed


async def test_a_server_that_does_not_respond(
    nodes: list[RateLimiter], admin: psycopg.AsyncConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_limiter, "_TIMEOUT", 0.2)
    await nodes[0].take(b"alice")
    [frozen] = await backends(admin)
    os.kill(frozen, signal.SIGSTOP)
    try:
        with pytest.raises(DatabaseUnavailable):
            await nodes[0].take(b"alice")
        assert (await nodes[0].take(b"bob")).allowed  # through another connection
    finally:
        os.kill(frozen, signal.SIGCONT)


async def test_a_cancelled_request_leaves_a_working_limiter(
    nodes: list[RateLimiter], admin: psycopg.AsyncConnection
) -> None:
    await nodes[0].take(b"alice")
    async with admin.transaction():
        await admin.execute("SELECT 1 FROM rate_limits FOR UPDATE")
        waiting = asyncio.create_task(nodes[0].take(b"alice"))
        [backend] = await backends(admin)
        while not await is_blocked(admin, backend):
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert (await nodes[0].take(b"alice")).allowed


async def backends(admin: psycopg.AsyncConnection) -> list[int]:
    """Process ids of the other connections to this database."""
    others = await admin.execute(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_type = 'client backend' AND application_name <> 'kept'"  # that of the fixture
    )
    return [pid for [pid] in await others.fetchall()]


async def is_blocked(admin: psycopg.AsyncConnection, backend: int) -> bool:
    [[blockers]] = await (await admin.execute("SELECT pg_blocking_pids(%s)", [backend])).fetchall()
    return bool(blockers)
