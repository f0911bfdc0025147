"""Concurrent writers on SQLite are committed together, and none returns before the commit."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from statements import noted

from waypost.database import Database, after_commit
from waypost.database.shared_commits import SharedCommits
from waypost.kit.errors import Unavailable


class Disk:
    """Begins transactions, of which a commit waits until it is let."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.began = 0
        self.may_commit = asyncio.Event()
        self.may_commit.set()
        self.error: Exception | None = None

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[object]:
        self.began += 1
        async with self._db._begin_write() as tx:
            yield tx
            await self.may_commit.wait()
            if self.error:
                raise self.error


class Notes:
    def __init__(self, db: Database) -> None:
        self._db, self.disk, self.now = db, Disk(db), 0.0
        self.told: list[str] = []
        """What writers had called after the commit."""
        self.commits = SharedCommits(self.disk.begin, monotonic=lambda: self.now)  # type: ignore[arg-type]

    async def write(self, note: str, *, then: BaseException | None = None) -> None:
        async with self.commits.write() as tx:
            await tx.execute(text("INSERT INTO notes VALUES (:note)"), {"note": note})
            after_commit(tx, lambda: self.told.append(note))
            if then:
                raise then

    async def read(self) -> list[str]:
        async with self._db.read() as tx:
            return list((await tx.scalars(text("SELECT note FROM notes ORDER BY rowid"))).all())


@pytest.fixture
async def notes(tmp_path: Path) -> AsyncIterator[Notes]:
    db = Database(f"sqlite:///{tmp_path / 'notes.db'}")
    async with db.write() as tx:
        await tx.execute(text("CREATE TABLE notes (note TEXT UNIQUE)"))
    yield Notes(db)
    await db.close()


async def test_concurrent_writers_share_a_transaction(notes: Notes) -> None:
    await asyncio.gather(*(notes.write(str(number)) for number in range(20)))
    assert await notes.read() == [str(number) for number in range(20)]
    assert notes.disk.began == 1


async def test_writers_one_after_the_other_do_not_wait_for_each_other(notes: Notes) -> None:
    await notes.write("first")
    await notes.write("second")
    assert notes.disk.began == 2


async def test_nobody_returns_before_the_commit(notes: Notes) -> None:
    notes.disk.may_commit.clear()
    error = ValueError("seen")
    writing = [asyncio.create_task(notes.write(name, then=then)) for name, then in (("a", None), ("b", error))]
    done, _ = await asyncio.wait(writing, timeout=0.3)
    assert not done
    assert await notes.read() == []
    notes.disk.may_commit.set()
    assert await asyncio.gather(*writing, return_exceptions=True) == [None, error]
    assert await notes.read() == ["a"]


@pytest.mark.parametrize("failing", range(3))
async def test_a_failed_writer_loses_its_own_changes_only(notes: Notes, failing: int) -> None:
    writing = (notes.write(str(n), then=ValueError("no") if n == failing else None) for n in range(3))
    results = await asyncio.gather(*writing, return_exceptions=True)
    assert [isinstance(result, ValueError) for result in results] == [n == failing for n in range(3)]
    assert await notes.read() == notes.told == [str(n) for n in range(3) if n != failing]


async def test_a_failed_commit_fails_all_of_its_writers(notes: Notes) -> None:
    notes.disk.error = OSError("disk full")
    results = await asyncio.gather(notes.write("a"), notes.write("b"), return_exceptions=True)
    assert results == [notes.disk.error] * 2
    notes.disk.error = None
    await notes.write("c")
    assert await notes.read() == notes.told == ["c"]


async def test_a_lost_transaction_fails_all_of_its_writers(notes: Notes) -> None:
    """As SQLite rolls back by itself when the disk is full."""

    async def lose() -> None:
        async with notes.commits.write() as tx:
            await tx.exec_driver_sql("ROLLBACK")

    results = await asyncio.gather(notes.write("a"), lose(), notes.write("b"), return_exceptions=True)
    assert all(isinstance(result, Exception) for result in results[:2])
    assert results[2] is None
    assert await notes.read() == ["b"]


async def test_cancelled_writers_do_not_stop_the_others(notes: Notes) -> None:
    notes.disk.may_commit.clear()
    writing = [asyncio.create_task(notes.write(str(number))) for number in range(6)]
    for number in (0, 3):
        await asyncio.sleep(0.02)
        writing[number].cancel()
    waiting = [asyncio.create_task(notes.write(f"late {number}")) for number in range(3)]
    await asyncio.sleep(0.02)
    for task in waiting[:2]:
        task.cancel()
    notes.disk.may_commit.set()
    await asyncio.gather(*writing, *waiting, return_exceptions=True)
    assert {"1", "2", "4", "5", "late 2"} <= set(await notes.read())
    assert not notes.commits.waiting
    await notes.write("after")


async def test_a_cancelled_block_is_rolled_back(notes: Notes) -> None:
    entered = asyncio.Event()

    async def hang() -> None:
        async with notes.commits.write() as tx:
            await tx.execute(text("INSERT INTO notes VALUES ('never')"))
            entered.set()
            await asyncio.Event().wait()

    hanging, writing = asyncio.create_task(hang()), asyncio.create_task(notes.write("a"))
    await entered.wait()
    hanging.cancel()
    await writing
    assert await notes.read() == ["a"]


async def test_an_old_transaction_takes_no_more_writers(notes: Notes) -> None:
    async def write_slowly(note: str) -> None:
        async with notes.commits.write() as tx:
            await tx.execute(text("INSERT INTO notes VALUES (:note)"), {"note": note})
            notes.now += 0.03

    await asyncio.gather(*(write_slowly(str(number)) for number in range(6)))
    assert notes.disk.began == 3


async def test_waiting_too_long_raises_unavailable(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    notes.disk.may_commit.clear()
    first = asyncio.create_task(notes.write("a"))
    await asyncio.sleep(0.02)
    with monkeypatch.context() as impatient, pytest.raises(Unavailable):
        impatient.setattr("waypost.database.write_lock.TIMEOUT", 0.05)
        await notes.write("b")
    notes.disk.may_commit.set()
    await first
    await notes.write("c")
    assert await notes.read() == ["a", "c"]


async def test_processes_that_answer_requests_share_commits(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path / 'notes.db'}", read_timeout=2)
    async with db.write() as tx:
        await tx.execute(text("CREATE TABLE notes (note TEXT UNIQUE)"))

    async def write(note: str) -> None:
        async with db.write() as tx:
            await tx.execute(text("INSERT INTO notes VALUES (:note)"), {"note": note})

    with noted() as statements:
        await asyncio.gather(*(write(str(n)) for n in range(4)))
    async with db.read() as tx:
        assert sorted((await tx.scalars(text("SELECT note FROM notes"))).all()) == list("0123")
    assert [sql for sql, _ in statements].count("COMMIT") == 1
    await db.close()


_WRITER = """
import asyncio, os, sys
from sqlalchemy import text
from waypost.database import Database, after_commit

async def write(db, writer):
    for number in range(1_000_000):
        note = f"{writer} {number}"
        async with db.write() as tx:
            await tx.execute(text("INSERT INTO notes VALUES (:note)"), {"note": note})
        os.write(1, note.encode() + b"\\n")

async def main():
    db = Database(sys.argv[1], read_timeout=2)
    await asyncio.gather(*(write(db, writer) for writer in range(16)))

asyncio.run(main())
"""


async def test_a_killed_process_has_committed_all_that_returned(notes: Notes, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _WRITER, f"sqlite:///{tmp_path / 'notes.db'}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        returned = [process.stdout.readline() for _ in range(200)]
        process.kill()
        returned += process.stdout.readlines()
    complete = {line.decode().strip() for line in returned if line.endswith(b"\n")}
    assert len(complete) >= 200
    assert complete <= set(await notes.read())
