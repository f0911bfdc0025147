"""The job queue: enqueue, claim and settle, on both databases."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from waypost import mail
from waypost.database import Database, Tx
from waypost.kit.ids import new_id
from waypost.worker import jobs
from waypost.worker.jobs import LONG, SHORT, Again, JobKind, JobQueue
from waypost.worker.jobs import jobs as table

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


KIND = JobKind("links.check")
LONG_KIND, OTHER_LONG_KIND = JobKind("test.long", LONG), JobKind("test.other", LONG)


async def enqueue(db, kind=KIND, payload="any", **rest):
    async with db.write() as tx:
        return await jobs.enqueue(tx, kind, payload, now=NOW, **rest)


async def _ignore(_job: jobs.Job) -> None: ...


def runner(now=NOW, queue=SHORT, kinds=(KIND, mail.JOB), **rest):
    return jobs.JobRunner(queue, dict.fromkeys(kinds, _ignore), clock=lambda: now, **rest)


async def claim(db, now=NOW, limit=10, **rest):
    async with db.write() as tx:
        return await runner(now, **rest).claim(tx, limit)


async def settle(db, job, error=None, now=NOW, **rest):
    async with db.write() as tx:
        await runner(now).settle(tx, [jobs.JobOutcome(job, error, **rest)])


async def rows(db):
    async with db.read() as tx:
        return (await tx.execute(select(table).order_by(table.c.run_at, table.c.id))).all()


async def test_enqueues_claims_and_finishes_a_job(db: Database) -> None:
    account = new_id()
    job_id = await enqueue(db, payload={"link": "ä"}, account_id=account)
    [job] = await claim(db)
    assert (job.id, job.name, job.payload, job.account_id) == (job_id, "links.check", {"link": "ä"}, account)
    assert (job.attempt, job.lease_until) == (1, NOW + SHORT.lease)
    await settle(db, job)
    assert await rows(db) == []


async def test_a_job_shares_the_fate_of_its_transaction(db: Database) -> None:
    async def enqueue_and_fail():
        async with db.write() as tx:
            await jobs.enqueue(tx, KIND, {}, now=NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await enqueue_and_fail()
    assert await claim(db) == []


async def test_oldest_first_and_not_before_its_time(db: Database) -> None:
    later = await enqueue(db, run_at=NOW + timedelta(seconds=10))
    second = await enqueue(db, run_at=NOW - timedelta(seconds=1))
    first = await enqueue(db, run_at=NOW - timedelta(seconds=2))
    assert [job.id for job in await claim(db, limit=1)] == [first]
    assert [job.id for job in await claim(db)] == [second]
    assert [job.id for job in await claim(db, now=NOW + timedelta(seconds=10))] == [later]


async def test_two_claimers_never_get_the_same_job(db: Database, database_url: str) -> None:
    for _ in range(40):
        await enqueue(db)
    other = Database(database_url)
    taken = await asyncio.gather(*(claim(each, limit=5) for each in [db, other] * 4))
    assert len({job.id for batch in taken for job in batch}) == sum(len(batch) for batch in taken) == 40
    await other.close()


async def test_a_lease_that_ran_out_is_claimed_again(db: Database) -> None:
    await enqueue(db)
    await claim(db)
    assert await claim(db, now=NOW + SHORT.lease - timedelta(microseconds=1)) == []
    [again] = await claim(db, now=NOW + SHORT.lease)
    assert again.attempt == 2


async def test_who_lost_the_lease_changes_nothing(db: Database) -> None:
    await enqueue(db)
    [lost] = await claim(db)
    [held] = await claim(db, now=NOW + SHORT.lease)
    before = await rows(db)
    await settle(db, lost)
    await settle(db, lost, again=Again(NOW))
    await settle(db, lost, "too late", now=NOW)
    assert await rows(db) == before
    async with db.write() as tx:
        assert [await jobs.lock(tx, lost), await jobs.lock(tx, held)] == [False, True]


async def test_a_failure_waits_longer_each_time_and_the_last_one_stays(db: Database) -> None:
    await enqueue(db, replace(KIND, max_attempts=3))
    now, waits = NOW, []
    for _ in range(3):
        [job] = await claim(db, now=now)
        await settle(db, job, f"no answer {job.attempt}", now=now)
        [row] = await rows(db)
        waits.append(row.run_at - now)
        now = row.run_at
    assert waits[:2] == [timedelta(seconds=2), timedelta(seconds=8)]
    assert (row.error, row.attempts, row.lease_until) == ("no answer 3", 3, None)
    assert row.failed_at is not None
    assert await claim(db, now=now + timedelta(days=1)) == []


async def test_what_lets_people_in_is_not_kept_of_a_job_that_failed_for_good(db: Database) -> None:
    for kind in (mail.JOB, KIND):
        for who in ("fails", "dies"):
            await enqueue(db, replace(kind, max_attempts=1), {"text": "/reset/token"}, account_id=new_id())
            [job] = await claim(db)
            if who == "fails":
                await settle(db, job, "no", now=NOW)
    await claim(db, now=NOW + SHORT.lease)
    reported = [(row.name, row.payload, row.failed_at is not None) for row in await rows(db)]
    kept = {"text": "/reset/token"}
    assert reported == [("mail.send", {}, True)] * 2 + [("links.check", kept, True)] * 2
    async with db.write() as tx:
        await jobs.delete_jobs(tx, mail.JOB, (await rows(db))[0].account_id)
    assert len(await rows(db)) == 3


async def test_a_last_attempt_that_nobody_finished_is_buried_with_a_reason(db: Database) -> None:
    await enqueue(db, replace(KIND, max_attempts=1))
    await claim(db)
    assert await claim(db, now=NOW + SHORT.lease) == []
    [row] = await rows(db)
    assert row.failed_at == NOW + SHORT.lease
    assert row.error == "the process ended while it ran the last attempt"


def test_the_wait_ends_at_an_hour() -> None:
    assert [jobs.wait_after(n).total_seconds() for n in (1, 2, 3, 6, 7, 50)] == [2, 8, 32, 2048, 3600, 3600]


async def test_long_jobs_do_not_hold_back_others(db: Database) -> None:
    """Each runner claims those of its queue, and sees no others as due."""
    for _ in range(10):
        await enqueue(db, LONG_KIND)
    long, short = runner(queue=LONG, kinds=[LONG_KIND]), runner()
    async with db.write() as tx:
        assert not await short.is_due(tx)
        assert await short.find_oldest_due(tx) is None
        assert await short.claim(tx, short.max_concurrent) == []
        await jobs.enqueue(tx, KIND, "any", now=NOW)
        [job] = await short.claim(tx, short.max_concurrent)
        claimed = await long.claim(tx, long.max_concurrent)
    assert job.name == KIND.name
    assert [job.name for job in claimed] == ["test.long"] * LONG.slots


async def test_an_account_has_one_long_job_of_a_kind_at_a_time(db: Database) -> None:
    ada, bea = new_id(), new_id()
    for account, seconds in ((ada, 5), (ada, 3), (ada, 4), (bea, 1)):
        await enqueue(db, LONG_KIND, seconds, account_id=account, run_at=NOW - timedelta(seconds=seconds))
    other = await enqueue(db, OTHER_LONG_KIND, "of the same account", account_id=ada)
    long = runner(queue=LONG, kinds=[LONG_KIND, OTHER_LONG_KIND])
    async with db.write() as tx:
        claimed = await long.claim(tx, 9)
        assert not await long.is_due(tx)
        assert await long.claim(tx, 9) == []
    assert {(job.account_id, job.payload) for job in claimed if job.id != other} == {(ada, 5), (bea, 1)}
    await settle(db, next(job for job in claimed if job.payload == 5))
    async with db.write() as tx:
        assert await long.is_due(tx)
        assert [job.payload for job in await long.claim(tx, 9)] == [4]


async def test_an_account_has_its_share_of_a_queue_and_jobs_of_no_account_are_not_held(db: Database) -> None:
    ada, bea = new_id(), new_id()
    for account in (*[ada] * 9, bea, None, None):
        await enqueue(db, account_id=account)
    claimed = Counter(job.account_id for job in await claim(db))
    assert claimed == {ada: SHORT.per_account, bea: 1, None: 2}
    assert await claim(db) == []


async def test_a_kind_has_a_limit_of_which_retries_share_half(db: Database) -> None:
    queue = JobQueue("test", slots=16, per_account=1, per_kind=8)
    first, second = JobKind("test.first", queue), JobKind("test.second", queue)
    for kind in (first, second):
        for _ in range(9):
            await enqueue(db, kind, "retry", account_id=new_id())
    async with db.write() as tx:
        await tx.execute(update(table).values(attempts=1))
    for _ in range(9):
        await enqueue(db, first, "new", account_id=new_id())
    claimed = await claim(db, limit=20, queue=queue)
    assert Counter((job.name, job.payload) for job in claimed) == {
        ("test.first", "retry"): 4,
        ("test.second", "retry"): 4,
        ("test.first", "new"): 4,
    }


async def test_a_lower_rank_comes_first(db: Database) -> None:
    queue = JobQueue("test", slots=16, per_account=1, ranks=2)
    for seconds, rank in ((3, 1), (1, 0), (2, 0)):
        await enqueue(db, JobKind("test.any", queue), seconds, run_at=NOW - timedelta(seconds=seconds), rank=rank)
    async with db.write() as tx:
        assert await runner(queue=queue).is_due(tx)
    ordered = [(await claim(db, limit=1, queue=queue))[0].payload for _ in range(3)]
    assert ordered == [2, 1, 3]


async def test_a_job_runs_again_when_its_handler_says_so(db: Database) -> None:
    id_ = await enqueue(db, payload=1)
    [job] = await claim(db)
    await settle(db, job, "no")
    [job] = await claim(db, now=NOW + timedelta(seconds=2))
    later = NOW + timedelta(days=1)
    await settle(db, job, again=Again(later, payload=2))
    [row] = await rows(db)
    assert (row.id, row.run_at, row.payload, row.attempts, row.error) == (id_, later, 2, 0, None)
    [job] = await claim(db, now=later)
    assert job.attempt == 1


@pytest.mark.parametrize("outcome", ["done", "again", "failed"])
async def test_a_thing_has_one_job_that_runs_again_if_it_is_enqueued_while_it_runs(db: Database, outcome: str) -> None:
    thing, later = new_id(), NOW + timedelta(minutes=5)
    await enqueue(db, payload="first", id_=thing, run_at=NOW + timedelta(hours=1))
    await enqueue(db, payload="second", id_=thing)
    [job] = await claim(db)
    assert (job.id, job.payload) == (thing, "second")
    async with db.read() as tx:
        assert not await jobs.is_enqueued_again(tx, job)
    await enqueue(db, payload="third", id_=thing, run_at=later)
    assert await claim(db, now=NOW + SHORT.lease - timedelta(seconds=1)) == []
    async with db.write() as tx:
        assert await jobs.lock(tx, job)
        assert await jobs.is_enqueued_again(tx, job)
    again, error = Again(NOW) if outcome == "again" else None, "no" if outcome == "failed" else None
    await settle(db, job, error, again=again)
    [row] = await rows(db)
    assert (row.payload, row.run_at, row.lease_until, row.attempts) == ("third", later, None, 0)
    async with db.write() as tx:
        await jobs.delete_job(tx, thing)
    assert await rows(db) == []


async def test_a_kind_without_a_limit_of_attempts_is_tried_for_ever(db: Database) -> None:
    await enqueue(db, JobKind("test.forever", max_attempts=None))
    now = NOW
    for attempt in range(1, 3 * jobs.MAX_DEATHS):
        [job] = await claim(db, now=now)
        assert job.attempt == attempt
        now += timedelta(hours=2)


async def test_a_failure_may_ask_for_a_longer_wait(db: Database) -> None:
    async def fail(_: jobs.Job) -> None:
        raise jobs.RetryLater("busy", timedelta(minutes=1))

    await enqueue(db)
    failing = jobs.JobRunner(SHORT, {KIND: fail}, clock=lambda: NOW)
    async with db.write() as tx:
        [job] = await failing.claim(tx, 1)
        await failing.settle(tx, [await failing.run(job)])
    [row] = await rows(db)
    assert (row.error, row.run_at) == ("busy", NOW + timedelta(minutes=1))


async def test_a_job_whose_process_died_three_times_is_not_tried_again(db: Database) -> None:
    """An attempt that was settled in between begins the count again, and so does a stop of the service."""
    stopped: list[str] = []

    async def stop(_: Tx, job: jobs.Job) -> None:
        stopped.append(job.payload)

    await enqueue(db, LONG_KIND, "deadly")
    now = NOW

    async def claimed() -> list[jobs.Job]:
        nonlocal now
        now += timedelta(hours=1)
        return list(await claim(db, now, queue=LONG, kinds=[LONG_KIND], stops={LONG_KIND: stop}))

    async def fail(job: jobs.Job, *, is_death: bool) -> None:
        await settle(db, job, "it failed", now, is_death=is_death)

    await claimed()  # the worker dies
    [job] = await claimed()
    await fail(job, is_death=False)
    await claimed()
    [job] = await claimed()
    await fail(job, is_death=True)  # its own process dies
    [job] = await claimed()
    assert stopped == []
    assert await claimed() == []
    assert stopped == ["deadly"]
    [row] = await rows(db)
    assert row.failed_at
    assert row.error.startswith("stopped: the process died 3 times")
    assert await claimed() == []


async def test_the_death_of_a_process_that_a_handler_started_counts(db: Database) -> None:
    async def die(_: jobs.Job) -> None:
        raise jobs.ProcessDied("it ended with -9")

    await enqueue(db)
    dying = jobs.JobRunner(SHORT, {KIND: die}, clock=lambda: NOW)
    async with db.write() as tx:
        [job] = await dying.claim(tx, 1)
        await dying.settle(tx, [await dying.run(job)])
    [row] = await rows(db)
    assert (row.deaths, row.error, row.lease_until) == (1, "it ended with -9", None)
