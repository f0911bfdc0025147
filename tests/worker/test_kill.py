"""`kill -9` at every point of a job: nothing is lost, and attempts are bounded."""

import asyncio
import signal
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import forked
import pytest
from sqlalchemy import select, text, update

from waypost.database import Database
from waypost.kit import clock
from waypost.worker import jobs
from waypost.worker.jobs import SHORT, JobKind, JobRunner
from waypost.worker.jobs import jobs as table
from waypost.worker.loop import WorkerLoop
from waypost.worker.run import work

MORTAL = Path(__file__).parent / "apps" / "mortal.py"
RUNS_AGAIN = ["after claim", "before run", "after run", "before mark", "while marking"]


@pytest.fixture
async def effects(db):
    async with db.write() as tx:
        await tx.execute(text("CREATE TABLE effects (n INTEGER)"))

    async def read():
        async with db.read() as tx:
            return list((await tx.execute(text("SELECT n FROM effects"))).scalars())

    return read


NOTE = JobKind("test.note")


def die(point, url):
    done = forked.run([url, point], program=MORTAL)
    assert done.returncode == -signal.SIGKILL


async def work_off(db):
    stop = asyncio.Event()

    async def note(job):
        async with db.write() as tx:
            await tx.execute(text("INSERT INTO effects VALUES (:n)"), {"n": job.payload})
        stop.set()

    await work(db, [WorkerLoop(db, JobRunner(SHORT, {NOTE: note}, clock=clock.now))], stop=stop)


async def let_leases_run_out(db):
    past = clock.now() - timedelta(seconds=1)
    async with db.write() as tx:
        await tx.execute(update(table).where(table.c.lease_until.is_not(None)).values(lease_until=past))


async def enqueue(db, **kind):
    async with db.write() as tx:
        await jobs.enqueue(tx, replace(NOTE, **kind), 7, now=clock.now())


async def rows(db):
    async with db.read() as tx:
        return (await tx.execute(select(table))).all()


@pytest.mark.parametrize("point", RUNS_AGAIN)
async def test_a_killed_worker_loses_no_job(db: Database, database_url: str, effects, point: str) -> None:
    await enqueue(db)
    die(point, database_url)
    [row] = await rows(db)
    assert (row.attempts, row.failed_at) == (1, None)
    await let_leases_run_out(db)
    await work_off(db)
    assert await rows(db) == []
    had_run = point in {"after run", "before mark", "while marking"}
    assert await effects() == [7] * (2 if had_run else 1)


async def test_a_marked_job_does_not_run_again(db: Database, database_url: str, effects) -> None:
    await enqueue(db)
    die("after mark", database_url)
    assert (await rows(db), await effects()) == ([], [7])


async def test_attempts_are_bounded(db: Database, database_url: str, effects) -> None:
    await enqueue(db, max_attempts=2)
    for _ in range(2):
        die("after run", database_url)
        await let_leases_run_out(db)
    async with db.write() as tx:
        assert await jobs.JobRunner(SHORT, {NOTE: None}, clock=clock.now).claim(tx, 1) == []
    [row] = await rows(db)
    assert (row.attempts, row.failed_at is not None, await effects()) == (2, True, [7, 7])
