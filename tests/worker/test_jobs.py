"""The job queue: enqueue, claim and settle, on both databases."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from waypost.database import Database, Tx
from waypost.kit.ids import new_id
from waypost.worker import jobs
from waypost.worker.jobs import jobs as table

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


async def enqueue(db, name="links.check", payload="any", **rest):
    async with db.write() as tx:
        return await jobs.enqueue(tx, name, payload, now=NOW, **rest)


def runner(now=NOW, leased_by="me"):
    runner = jobs.JobRunner({}, clock=lambda: now)
    runner.worker = leased_by
    return runner


async def claim(db, now=NOW, limit=10, leased_by="me"):
    async with db.write() as tx:
        return await runner(now, leased_by).claim(tx, limit)


async def settle(db, job, error=None, now=NOW):
    async with db.write() as tx:
        await runner(now).settle(tx, [jobs.JobOutcome(job, error)])


async def rows(db):
    async with db.read() as tx:
        return (await tx.execute(select(table).order_by(table.c.run_at, table.c.id))).all()


async def test_enqueues_claims_and_finishes_a_job(db: Database) -> None:
    account = new_id()
    job_id = await enqueue(db, payload={"link": "ä"}, account_id=account)
    [job] = await claim(db)
    assert (job.id, job.name, job.payload, job.account_id) == (job_id, "links.check", {"link": "ä"}, account)
    assert (job.attempt, job.leased_by) == (1, "me")
    await settle(db, job)
    assert await rows(db) == []


async def test_a_job_shares_the_fate_of_its_transaction(db: Database) -> None:
    async def enqueue_and_fail():
        async with db.write() as tx:
            await jobs.enqueue(tx, "links.check", {}, now=NOW)
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
    await claim(db, leased_by="dead")
    assert await claim(db, now=NOW + jobs.LEASE - timedelta(microseconds=1)) == []
    [again] = await claim(db, now=NOW + jobs.LEASE)
    assert (again.attempt, again.leased_by) == (2, "me")


async def test_who_lost_the_lease_changes_nothing(db: Database) -> None:
    await enqueue(db)
    [lost] = await claim(db, leased_by="slow")
    await claim(db, now=NOW + jobs.LEASE)
    before = await rows(db)
    await settle(db, lost)
    await settle(db, lost, "too late", now=NOW)
    assert await rows(db) == before


async def test_a_failure_waits_longer_each_time_and_the_last_one_stays(db: Database) -> None:
    await enqueue(db, max_attempts=3)
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
    for name in ("mail.send", "links.check"):
        for who in ("fails", "dies"):
            await enqueue(db, name, {"text": "/reset/token"}, max_attempts=1, account_id=new_id())
            [job] = await claim(db)
            if who == "fails":
                await settle(db, job, "no", now=NOW)
    await claim(db, now=NOW + jobs.LEASE)
    reported = [(row.name, row.payload, row.failed_at is not None) for row in await rows(db)]
    kept = {"text": "/reset/token"}
    assert reported == [("mail.send", {}, True)] * 2 + [("links.check", kept, True)] * 2
    async with db.write() as tx:
        await jobs.delete_jobs(tx, "mail.send", (await rows(db))[0].account_id)
    assert len(await rows(db)) == 3


async def test_a_last_attempt_that_nobody_finished_is_buried_with_a_reason(db: Database) -> None:
    await enqueue(db, max_attempts=1)
    await claim(db)
    assert await claim(db, now=NOW + jobs.LEASE) == []
    [row] = await rows(db)
    assert row.failed_at == NOW + jobs.LEASE
    assert row.error == "the process ended while it ran the last attempt"


def test_the_wait_ends_at_an_hour() -> None:
    assert [jobs.wait_after(n).total_seconds() for n in (1, 2, 3, 6, 7, 50)] == [2, 8, 32, 2048, 3600, 3600]


async def test_long_jobs_do_not_hold_back_others(db: Database) -> None:
    """Each runner claims its own, and sees no others as due."""
    async with db.write() as tx:
        for _ in range(10):
            await jobs.enqueue(tx, "test.long", "any", now=NOW)
    long = jobs.LongJobRunner({"test.long": _ignore}, clock=lambda: NOW, stops={})
    others = jobs.JobRunner({"test.mail": _ignore}, clock=lambda: NOW, excluded=long.names)
    async with db.write() as tx:
        assert not await others.is_due(tx)
        assert await others.find_oldest_due(tx) is None
        assert await others.claim(tx, others.max_concurrent) == []
        await jobs.enqueue(tx, "test.mail", "any", now=NOW)
        [mail] = await others.claim(tx, others.max_concurrent)
        claimed = await long.claim(tx, long.max_concurrent)
    assert mail.name == "test.mail"
    assert [job.name for job in claimed] == ["test.long"] * long.max_concurrent


async def _ignore(_job: jobs.Job) -> None: ...


async def test_an_account_has_one_long_job_of_a_name_at_a_time(db: Database) -> None:
    ada, bea = new_id(), new_id()
    for account, seconds in ((ada, 5), (ada, 3), (ada, 4), (bea, 1)):
        await enqueue(db, "test.long", seconds, account_id=account, run_at=NOW - timedelta(seconds=seconds))
    other = await enqueue(db, "test.other", "of the same account", account_id=ada)
    long = jobs.LongJobRunner({"test.long": _ignore, "test.other": _ignore}, clock=lambda: NOW, stops={})
    async with db.write() as tx:
        claimed = await long.claim(tx, 9)
        assert not await long.is_due(tx)
        assert await long.claim(tx, 9) == []
    assert {(job.account_id, job.payload) for job in claimed if job.id != other} == {(ada, 5), (bea, 1)}
    await settle(db, next(job for job in claimed if job.payload == 5))
    async with db.write() as tx:
        assert await long.is_due(tx)
        assert [job.payload for job in await long.claim(tx, 9)] == [4]


async def test_a_job_whose_process_died_three_times_is_not_tried_again(db: Database) -> None:
    """An attempt that was settled in between begins the count again, and so does a stop of the service."""
    stopped: list[str] = []

    async def stop(_: Tx, job: jobs.Job) -> None:
        stopped.append(job.payload)

    await enqueue(db, "test.long", "deadly")
    now = NOW

    async def claimed() -> list[jobs.Job]:
        nonlocal now
        now += timedelta(hours=1)
        long = jobs.LongJobRunner({"test.long": _ignore}, clock=lambda: now, stops={"test.long": stop})
        long.worker = "me"
        async with db.write() as tx:
            return list(await long.claim(tx, 9))

    async def fail(job: jobs.Job, *, is_death: bool) -> None:
        async with db.write() as tx:
            await runner(now).settle(tx, [jobs.JobOutcome(job, "it failed", is_death)])

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

    await enqueue(db, "test.die")
    dying = jobs.JobRunner({"test.die": die}, clock=lambda: NOW)
    async with db.write() as tx:
        [job] = await dying.claim(tx, 1)
        await dying.settle(tx, [await dying.run(job)])
    [row] = await rows(db)
    assert (row.deaths, row.error, row.leased_by) == (1, "it ended with -9", None)
