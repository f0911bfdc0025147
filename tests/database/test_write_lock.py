"""Writers of several processes run one after the other, in the order in which they asked."""

import asyncio
import fcntl
import os
from pathlib import Path

import pytest

from waypost.database.write_lock import WriteLock
from waypost.kit.errors import Unavailable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db-lock"


class OtherProcess:
    """Another file description of the lock file, which the kernel treats like another process."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT)

    def lock(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_UN)


async def test_excludes_other_processes(path: Path) -> None:
    lock, other = WriteLock(path), OtherProcess(path)
    async with lock.acquire():
        with pytest.raises(BlockingIOError):
            other.lock()
    other.lock()
    other.release()
    lock.close()


async def test_wakes_waiting_writers_in_order(path: Path) -> None:
    lock, other, order = WriteLock(path), OtherProcess(path), []
    other.lock()

    async def write(name: str) -> None:
        async with lock.acquire():
            order.append(name)

    waiting = [asyncio.create_task(write(name)) for name in ("first", "second")]
    for _ in range(5):
        await asyncio.sleep(0)
    assert order == []
    other.release()
    await asyncio.gather(*waiting)
    assert order == ["first", "second"]
    lock.close()


async def test_a_cancelled_writer_does_not_keep_the_lock(path: Path) -> None:
    lock, other = WriteLock(path), OtherProcess(path)
    other.lock()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), lock.acquire():
            pass
    other.release()
    async with lock.acquire():
        pass
    lock.close()


async def test_waiting_too_long_raises_unavailable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waypost.database.write_lock.TIMEOUT", 0.05)
    lock, other = WriteLock(path), OtherProcess(path)
    other.lock()
    for _ in range(2):
        with pytest.raises(Unavailable):
            async with lock.acquire():
                pass
    other.release()
    async with lock.acquire():
        pass
    lock.close()


async def test_works_without_a_lock_file(tmp_path: Path) -> None:
    lock = WriteLock(tmp_path / "gone" / "db-lock")
    async with lock.acquire():
        pass
    lock.close()
