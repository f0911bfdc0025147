"""`env` runs each test of lists and statistics once with each click store."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from resources.clicks.visited import Env, open_env

from waypost.database import Database
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore, schema
from waypost.resources.clicks.backends.clickhouse.client import ClickHouse
from waypost.resources.clicks.backends.sql import SqlClickStore
from waypost.resources.clicks.store import ClickStore


@pytest.fixture(params=["sqlite", "postgresql", "clickhouse"])
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """URLs of the database and, for one, of ClickHouse."""
    if request.param == "sqlite":
        copy = shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "waypost.db")
        return f"sqlite:///{copy}", ""
    clickhouse = request.getfixturevalue("clickhouse").url if request.param == "clickhouse" else ""
    return request.getfixturevalue("postgres_url"), clickhouse


@pytest.fixture
async def env(urls: tuple[str, str], tmp_path: Path) -> AsyncIterator[Env]:
    db, store = Database(urls[0]), await _open_store(urls[1])
    async with open_env(db, tmp_path, click_store=store) as opened:
        yield opened
    await store.close()
    await db.close()


async def _open_store(clickhouse_url: str) -> ClickStore:
    if not clickhouse_url:
        return SqlClickStore()
    client = ClickHouse(clickhouse_url)
    await schema.migrate(client)
    return ClickHouseStore(client)


@pytest.fixture
def store(env: Env) -> ClickHouseStore:
    """Of tests that run with ClickHouse only."""
    assert isinstance(env.click_store, ClickHouseStore)
    return env.click_store
