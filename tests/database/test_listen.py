"""R21: losing and restoring the connection is reported to the route tables and to the log."""

import asyncio

import psycopg
import pytest
import structlog
import tcp_proxy
from sqlalchemy import text
from structlog.testing import capture_logs

from waypost.database import Database, listen


@pytest.fixture
def states() -> asyncio.Queue:
    return asyncio.Queue()


@pytest.fixture
def complete() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
async def following(db: Database, database_url: str, states: asyncio.Queue, complete: asyncio.Event, monkeypatch):
    if db.dialect == "sqlite":
        pytest.skip("SQLite has no notifications")
    monkeypatch.setattr(listen, "log", structlog.get_logger())
    monkeypatch.setattr(listen, "_RETRY", 0)
    following = asyncio.create_task(
        listen.follow_channel(
            database_url,
            "changes",
            on_payload=states.put_nowait,
            on_complete=complete.set,
            on_connected=lambda: states.put_nowait("connected"),
            on_lost=lambda: states.put_nowait("lost"),
        )
    )
    assert await states.get() == "connected"
    yield following
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def lose(db: Database) -> None:
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'"
    async with db.write() as tx:
        await tx.execute(text(f"{others} AND datname = current_database() AND pid <> pg_backend_pid()"))


async def test_passes_on_notifications(db: Database, following, states: asyncio.Queue) -> None:
    async with db.write() as tx:
        await tx.execute(text("SELECT pg_notify('changes', 'slug')"))
    assert await states.get() == "slug"


async def test_reports_again_and_again_that_it_is_complete(
    following, complete: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "_HEARTBEAT", 0.05)
    for _ in range(2):
        complete.clear()
        await complete.wait()


@pytest.fixture
async def proxied(postgres_url: str, states: asyncio.Queue):
    """A proxy, and what follows changes through it; the queue also has "complete"."""
    async with tcp_proxy.before(postgres_url) as (proxy, url):
        following = asyncio.create_task(
            listen.follow_channel(
                url,
                "changes",
                on_payload=states.put_nowait,
                on_complete=lambda: states.put_nowait("complete"),
                on_connected=lambda: states.put_nowait("connected"),
                on_lost=lambda: states.put_nowait("lost"),
            )
        )
        assert await states.get() == "connected"
        yield proxy
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def until(states: asyncio.Queue, state: str) -> list[str]:
    """What came before it, apart from heartbeats."""
    before = []
    while (found := await states.get()) != state:
        before += [found] if found != "complete" else []
    return before


def test_a_silent_failure_is_noticed_within_a_second() -> None:
    assert listen._HEARTBEAT + listen._LATE < 1


async def test_late_answers_are_reported_and_nothing_is_lost(
    proxied: tcp_proxy.TcpProxy, postgres_url: str, states: asyncio.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "_TIMEOUT", 60)
    await states.get()
    proxied.fall_silent()
    await until(states, "lost")
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as other:
        await other.execute("SELECT pg_notify('changes', 'slug')")
    proxied.speak()
    assert await until(states, "complete") == ["slug"]


async def test_gives_up_a_silent_connection(
    proxied: tcp_proxy.TcpProxy, states: asyncio.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "_TIMEOUT", 0.1)
    monkeypatch.setattr(listen, "_RETRY", 0)
    proxied.fall_silent()
    assert await until(states, "lost") == []
    assert await until(states, "lost") == []  # disconnected
    proxied.speak()
    assert set(await until(states, "connected")) <= {"lost"}


async def test_reports_each_loss_and_each_reconnection(db: Database, following, states: asyncio.Queue) -> None:
    with capture_logs() as lines:
        for _ in range(2):
            await lose(db)
            assert [await states.get(), await states.get()] == ["lost", "connected"]
    lost = "change feed disconnected"
    assert [line["event"] for line in lines] == [lost, "change feed reconnected"] * 2
