"""R27: a damaged database file is logged when the service starts."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
import structlog
from structlog.testing import capture_logs

from waypost.database import Database
from waypost.worker import run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "way#post?.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE visits (text TEXT)")
        connection.executemany("INSERT INTO visits VALUES (?)", [("x" * 1000,)] * 100)
    connection.close()
    return path


@pytest.fixture
def stop() -> asyncio.Event:
    return asyncio.Event()


async def logged_events(path: Path, stop: asyncio.Event, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(run, "_log", structlog.get_logger())
    db = Database("sqlite://")
    db.path = path
    with capture_logs() as lines:
        await run.check_integrity(db, stop)
    await db.close()
    return [line["event"] for line in lines]


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xff" * len(content[8192:])
    path.write_bytes(content)


async def test_reports_a_damaged_database_file(
    path: Path, stop: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await logged_events(path, stop, monkeypatch) == []
    damage(path)
    assert await logged_events(path, stop, monkeypatch) == ["the database file is damaged, run waypost doctor"]


async def test_what_is_no_database_at_all(path: Path, stop: asyncio.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"\xff" * 8192)
    assert await logged_events(path, stop, monkeypatch) == ["the database file is damaged, run waypost doctor"]


async def test_it_ends_with_the_service(path: Path, stop: asyncio.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    damage(path)
    stop.set()
    async with asyncio.timeout(60):
        assert await logged_events(path, stop, monkeypatch) == []
