"""The worker's loops run jobs and steps, survive outages and end in order."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from sqlalchemy import select
from structlog.testing import capture_logs

from waypost.database import Database
from waypost.kit import clock
from waypost.kit.errors import Unavailable
from waypost.worker import jobs, loop
from waypost.worker import run as worker_run
from waypost.worker.jobs import SHORT, JobKind, JobRunner
from waypost.worker.jobs import jobs as table
from waypost.worker.run import work


@pytest.fixture
def stop():
    return asyncio.Event()


async def enqueue(db, name, payload="any", **rest):
    async with db.write() as tx:
        await jobs.enqueue(tx, JobKind(name), payload, now=clock.now(), **rest)


async def rows(db):
    async with db.read() as tx:
        return (await tx.execute(select(table))).all()


async def run(db, handlers, stop, *steps, queue=SHORT):
    kinds = {JobKind(name): handler for name, handler in handlers.items()}
    runner = JobRunner(queue, kinds, clock=clock.now)
    await work(db, [loop.WorkerLoop(db, runner)], [(loop.POLL_INTERVAL, step) for step in steps], stop=stop)


async def test_runs_all_pending_jobs(db: Database, stop: asyncio.Event) -> None:
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
    async def stop_once_claimed():
        if (await rows(db))[0].error:
            stop.set()
        return False

    await enqueue(db, "links.paint")
    await run(db, {}, stop, stop_once_claimed)
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


async def test_a_job_that_does_not_end_is_cut_off_and_tried_again(db: Database, stop: asyncio.Event) -> None:
    async def check(job):
        stop.set()
        await asyncio.Event().wait()

    await enqueue(db, "links.check")
    await run(db, {"links.check": check}, stop, queue=replace(SHORT, shutdown_timeout=0.05))
    [row] = await rows(db)
    assert (row.error, row.lease_until, row.failed_at) == ("the process was stopped while it ran", None, None)


async def test_attempts_are_settled_at_the_stop_while_a_step_still_runs(db: Database, stop: asyncio.Event) -> None:
    settled = asyncio.Event()

    class Stopping(Numbers):
        async def run(self, claimed):
            stop.set()
            return claimed.id

        def on_commit(self, outcomes, claimed):
            if outcomes:
                settled.set()

    numbers = Stopping(2)
    await work(db, [loop.WorkerLoop(db, numbers)], [(3600, settled.wait)], stop=stop)
    assert numbers.settled == [2]


async def test_a_step_that_does_not_end_is_cancelled_at_the_stop(
    db: Database, stop: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_run, "STEP_TIMEOUT", 0.01)

    async def hang():
        async with db.write() as tx:
            await jobs.enqueue(tx, JobKind("links.check"), "any", now=clock.now())
            stop.set()
            await asyncio.Event().wait()

    async def check(job):
        pytest.fail("it was never committed")

    await run(db, {"links.check": check}, stop, hang)
    assert await rows(db) == []


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
    await run(db, {"links.check": check}, stop, queue=replace(SHORT, slots=3))
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


async def test_an_outage_and_its_end_are_logged_once(stop: asyncio.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "RETRY_INTERVAL", 0.001)
    monkeypatch.setattr(loop, "_log", structlog.get_logger())
    with capture_logs() as lines:
        await loop.every(0.001, Flaky(stop).step, name="flaky", stop=stop, retry_on=Exception)
    assert [(line["event"], line["step"]) for line in lines] == [
        ("step failed, retrying", "flaky"),
        ("step recovered", "flaky"),
    ]


@pytest.mark.parametrize(
    ("error", "interval", "took", "waits"),
    [
        (Unavailable(), 3600, 0, [1, 1, 1]),  # its end is noticed within seconds
        (Unavailable(), 3600, 4, [4, 4, 4]),
        (Unavailable(), 3600, 600, [600, 1200, 2400, 3600, 3600]),  # a refused query
        (Unavailable(), 0.2, 30, [1, 1, 1]),
        (RuntimeError(), 3600, 0, [1, 2, 4, 8]),
        (RuntimeError(), 60, 20, [20, 40, 60, 60]),
        (RuntimeError(), 0.2, 20, [1, 1, 1]),
    ],
)
def test_what_fails_at_length_is_repeated_ever_later(
    error: Exception, interval: float, took: float, waits: list[float]
) -> None:
    wait, found = 0.0, []
    for _ in waits:
        wait = loop.next_wait(error, wait, took=took, interval=interval)
        found.append(wait)
    assert found == waits


async def test_a_step_with_more_work_is_called_again_at_once(stop: asyncio.Event) -> None:
    class Busy:
        steps = 0

        async def step(self):
            self.steps += 1
            if self.steps == 1000:
                stop.set()
            return self.steps < 1000

    busy = Busy()
    await loop.every(3600, busy.step, stop=stop)  # waiting once would outlast the test
    assert busy.steps == 1000


async def test_an_unexpected_error_ends_a_step_that_survives_outages_only() -> None:
    with pytest.raises(RuntimeError, match="odd"):
        await loop.every(0.001, Flaky(asyncio.Event()).step)


class Numbers(loop.QueueWorker):
    """Items are numbers. Number 0 crashes, and the database is gone for number 1."""

    name = "numbers"
    max_concurrent = 2

    def __init__(self, *numbers):
        self.waiting = [SimpleNamespace(id=number) for number in numbers]
        self.settled = []

    async def is_due(self, tx):
        return bool(self.waiting)

    async def find_oldest_due(self, tx):
        return None

    async def claim(self, tx, free):
        claimed, self.waiting = self.waiting[:free], self.waiting[free:]
        return claimed

    async def run(self, claimed):
        if claimed.id == 0:
            raise ZeroDivisionError
        if claimed.id == 1:
            raise Unavailable
        return claimed.id

    async def on_crash(self, claimed, error):
        return type(error).__name__

    async def settle(self, tx, outcomes):
        self.settled += outcomes


async def test_an_unexpected_error_is_logged_once_and_settled(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_log", structlog.get_logger())
    numbers = Numbers(0, 1, 2)
    leases = loop.WorkerLoop(db, numbers)
    with capture_logs() as lines:
        while await leases.step():
            pass
    assert numbers.settled == ["ZeroDivisionError", 2]
    events = [(line["event"], line["queue"], line["id"]) for line in lines]
    assert events == [
        ("attempt failed unexpectedly", "numbers", "0"),
        ("attempt not finished", "numbers", "1"),
    ]


async def test_outcomes_that_cannot_be_saved_do_not_block_the_queue(db: Database) -> None:
    class Broken(Numbers):
        async def settle(self, tx, outcomes):
            await super().settle(tx, outcomes)
            if 2 in outcomes:
                raise ValueError("cannot be saved")

    numbers = Broken(2)
    leases = loop.WorkerLoop(db, numbers)
    await leases.step()
    with pytest.raises(ValueError, match="cannot be saved"):
        await leases.step()
    numbers.waiting = [SimpleNamespace(id=3)]
    while await leases.step():
        pass
    assert numbers.settled == [2, 3]


async def test_the_wait_for_the_transaction_is_not_taken_off_the_lease(db: Database) -> None:
    await enqueue(db, "links.check", run_at=clock.now() - timedelta(seconds=1))
    time, has_looked = clock.now(), asyncio.Event()

    def look():
        has_looked.set()
        return time

    async def check(job):
        claimed.append((await rows(db))[0].lease_until)

    claimed = []
    leases = loop.WorkerLoop(db, JobRunner(SHORT, {JobKind("links.check"): check}, clock=look))
    async with db.write():  # on SQLite the claim waits for its end
        step = asyncio.create_task(leases.step())
        await has_looked.wait()
        await asyncio.sleep(0.05)
        time += timedelta(seconds=30)
    await step
    if db.dialect == "sqlite":
        assert claimed == [time + SHORT.lease]


class Looked(loop.QueueWorker[Any, Any]):
    """Has nothing to do, and counts how often it was asked."""

    name, max_concurrent, looks, due = "looked", 1, 0, False

    async def is_due(self, tx):
        self.looks += 1
        return self.due

    async def find_oldest_due(self, tx):
        return None

    async def claim(self, tx, limit):
        return []

    async def run(self, claimed):
        return None

    async def settle(self, tx, outcomes):
        pass


async def test_an_empty_queue_is_read_again_after_a_second_or_a_change_of_the_database(db: Database) -> None:
    """On SQLite, which knows at once whether there was one."""
    at, worker = 0.0, Looked()
    jobs_loop = loop.WorkerLoop(db, worker, idle_interval=1.0, monotonic=lambda: at)
    await jobs_loop.step()
    await jobs_loop.step()
    unchanged = worker.looks
    await enqueue(db, "links.check")
    await jobs_loop.step()
    changed = worker.looks
    at = 1.0
    await jobs_loop.step()
    assert (unchanged, changed, worker.looks) == ((1, 2, 3) if db.dialect == "sqlite" else (2, 3, 4))


async def test_what_only_a_limit_holds_back_is_looked_at_in_every_step(db: Database) -> None:
    worker = Looked()
    worker.due = None
    jobs_loop = loop.WorkerLoop(db, worker, idle_interval=1.0, monotonic=lambda: 0.0)
    assert [await jobs_loop.step() for _ in range(3)] == [False] * 3
    assert worker.looks == 3


async def test_a_change_is_not_missed_before_a_queue_is_read_again(db: Database) -> None:
    at, worker = 0.0, Looked()
    worker.poll_interval = 0.6
    jobs_loop = loop.WorkerLoop(db, worker, idle_interval=1.0, monotonic=lambda: at)
    await jobs_loop.step()
    await enqueue(db, "links.check")
    at = 0.5
    await jobs_loop.step()
    at = 0.7
    await jobs_loop.step()
    assert worker.looks == 2
