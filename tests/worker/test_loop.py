"""The loop: runs jobs and pollers, survives outages, ends in order."""

import asyncio

import pytest
import structlog
from sqlalchemy import select
from structlog.testing import capture_logs

from waypost.database import Database
from waypost.kit import clock
from waypost.kit.errors import Unavailable
from waypost.worker import jobs, loop
from waypost.worker.model import jobs as table


@pytest.fixture
def stop():
    return asyncio.Event()


async def enqueue(db, name, payload="any", **rest):
    async with db.write() as tx:
        await jobs.enqueue(tx, name, payload, now=clock.now(), **rest)


async def rows(db):
    async with db.read() as tx:
        return (await tx.execute(select(table))).all()


async def run(db, handlers, stop, *pollers):
    await loop.Worker(db, handlers, clock=clock.now, pollers=pollers).run(stop)


async def test_it_works(db: Database, stop: asyncio.Event) -> None:
    done = []

    async def check(job):
        done.append(job.payload)
        if len(done) == 20:
            stop.set()

    for n in range(20):
        await enqueue(db, "links.check", n)
    await run(db, {"links.check": check}, stop)
    assert sorted(done) == list(range(20))
    assert await rows(db) == []


async def test_a_failed_job_keeps_its_reason(db: Database, stop: asyncio.Event) -> None:
    async def check(job):
        stop.set()
        raise ValueError("no such link")

    await enqueue(db, "links.check")
    await run(db, {"links.check": check}, stop)
    [row] = await rows(db)
    assert (row.error, row.attempts, row.failed_at, row.lease_until) == ("ValueError: no such link", 1, None, None)


async def test_a_job_nobody_knows_is_kept_for_a_version_that_does(db: Database, stop: asyncio.Event) -> None:
    class OnceClaimed:
        async def step(self):
            if (await rows(db))[0].error:
                stop.set()
            return False

    await enqueue(db, "links.paint")
    await run(db, {}, stop, OnceClaimed())
    [row] = await rows(db)
    assert (row.error, row.failed_at) == ("no handler is named links.paint", None)


async def test_what_runs_at_the_stop_is_finished_and_nothing_new_begins(db: Database, stop: asyncio.Event) -> None:
    begun, ended = [], []

    async def check(job):
        begun.append(job.payload)
        stop.set()
        await enqueue(db, "links.check", "new")
        ended.append(job.payload)

    await enqueue(db, "links.check", "old")
    await run(db, {"links.check": check}, stop)
    assert (begun, ended) == (["old"], ["old"])
    assert [row.payload for row in await rows(db)] == ["new"]


async def test_a_job_that_does_not_end_is_cut_off_and_tried_again(
    db: Database, stop: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "DRAIN", 0.05)

    async def check(job):
        stop.set()
        await asyncio.Event().wait()

    await enqueue(db, "links.check")
    await run(db, {"links.check": check}, stop)
    [row] = await rows(db)
    assert (row.error, row.lease_until, row.failed_at) == ("the process was stopped while it ran", None, None)


async def test_no_more_jobs_at_once_than_allowed(db: Database, stop: asyncio.Event) -> None:
    running, most, left = 0, 0, 12

    async def check(job):
        nonlocal running, most, left
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running, left = running - 1, left - 1
        if left == 0:
            stop.set()

    for _ in range(12):
        await enqueue(db, "links.check")
    await loop.Worker(db, {"links.check": check}, clock=clock.now, at_once=3).run(stop)
    assert (most, left) == (3, 0)


class Flaky:
    """Works, fails three times in two ways, works again."""

    def __init__(self, stop):
        self.stop = stop
        self.script = [True, Unavailable(), RuntimeError("odd"), Unavailable(), False]

    async def step(self):
        found = self.script.pop(0)
        if not self.script:
            self.stop.set()
        if isinstance(found, Exception):
            raise found
        return found


async def test_an_outage_is_told_once_and_its_end_too(stop: asyncio.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "OUTAGE", 0.001)
    monkeypatch.setattr(loop, "_log", structlog.get_logger())
    with capture_logs() as lines:
        await loop.poll(Flaky(stop), stop)
    assert [(line["event"], line["poller"]) for line in lines] == [("outage", "Flaky"), ("outage over", "Flaky")]


async def test_a_poller_with_work_is_called_again_at_once(stop: asyncio.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "IDLE", 3600)

    class Busy:
        steps = 0

        async def step(self):
            self.steps += 1
            if self.steps == 1000:
                stop.set()
            return self.steps < 1000

    busy = Busy()
    await loop.poll(busy, stop)  # waiting once would outlast the test
    assert busy.steps == 1000
