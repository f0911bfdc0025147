"""Writers of several processes take turns: none waits for more than the one that writes now."""

import asyncio
import fcntl
import os
from pathlib import Path

import pytest

from waypost.database.write_lock import WriteLock
from waypost.kit.errors import Unavailable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db-turn"


class Other:
    """Another process's hold on the file: another opening of it, which is all that the kernel tells apart."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT)

    def take(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def give(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_UN)


async def test_it_works(path: Path) -> None:
    lock, other = WriteLock(path), Other(path)
    async with lock.held():
        with pytest.raises(BlockingIOError):
            other.take()
    other.take()
    other.give()
    lock.close()


async def test_who_waits_is_woken_and_the_loop_goes_on(path: Path) -> None:
    lock, other, order = WriteLock(path), Other(path), []
    other.take()

    async def write(name: str) -> None:
        async with lock.held():
            order.append(name)

    waiting = [asyncio.create_task(write(name)) for name in ("first", "second")]
    for _ in range(5):
        await asyncio.sleep(0)
    assert order == []
    other.give()
    await asyncio.gather(*waiting)
    assert order == ["first", "second"]
    lock.close()


async def test_who_gives_up_waiting_keeps_nobody_out(path: Path) -> None:
    lock, other = WriteLock(path), Other(path)
    other.take()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), lock.held():
            pass
    other.give()
    async with lock.held():
        pass
    lock.close()


async def test_who_waits_in_vain_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waypost.database.write_lock.PATIENCE", 0.05)
    lock, other = WriteLock(path), Other(path)
    other.take()
    for _ in range(2):
        with pytest.raises(Unavailable):
            async with lock.held():
                pass
    other.give()
    async with lock.held():
        pass
    lock.close()


async def test_without_a_file_it_does_without(tmp_path: Path) -> None:
    lock = WriteLock(tmp_path / "gone" / "db-turn")
    async with lock.held():
        pass
    lock.close()
