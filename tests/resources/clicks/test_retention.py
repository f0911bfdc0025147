"""Rows go when their time is over, and no figure changes by it."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from people import START, FakeClock
from sqlalchemy import Table, select, text

from waypost.database import Database
from waypost.kit.clock import EPOCH, microseconds
from waypost.kit.ids import new_id
from waypost.resources.clicks import retention as module
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.backends.sql.rebuild import rebuild
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.clicks.model import (
    MAX_LINK_ROWS,
    Click,
    click_dimensions,
    click_retention,
    click_totals,
    clicks,
    visitor_days,
)
from waypost.resources.clicks.retention import Retention, delete_account_data
from waypost.resources.clicks.stats.aggregate import Aggregate

TODAY = (START - EPOCH).days
ACCOUNT, LINK = new_id(), new_id()


def click(days_ago: int, visitor_id: int = 1, link: UUID = LINK) -> Click:
    at = START - timedelta(days=days_ago)
    ids = new_id().bytes, ACCOUNT.bytes, link.bytes
    return Click(*ids, microseconds(at), TODAY - days_ago, 48, visitor_id=visitor_id, country="DE")


async def add(db: Database, reported: Sequence[Click]) -> None:
    async with db.write() as tx:
        await write.add(tx, reported)
        await write.save(tx, Aggregate.of(reported))


async def days(db: Database, table: Table = clicks) -> list[int]:
    """Of the rows that are there: how many days ago."""
    async with db.read() as tx:
        return sorted(TODAY - day for day in await tx.scalars(select(table.c.day)))


async def contents(db: Database) -> list[list[Any]]:
    async with db.read() as tx:
        return [
            sorted(map(tuple, await tx.execute(select(table))), key=repr) for table in (click_totals, click_dimensions)
        ]


async def boundary(db: Database) -> int:
    async with db.read() as tx:
        return TODAY - await find_kept_since(tx)


def retention(db: Database, keep: int | None, clock: FakeClock | None = None) -> Retention:
    return Retention(db, keep, clock=clock or FakeClock())


async def looked(poller: Retention) -> Retention:
    """After its first look, when it does not believe the clock yet."""
    assert not await poller.step()
    return poller


async def run(poller: Retention) -> int:
    """How many groups were deleted."""
    return await run_once(poller) + await run_once(poller)


async def run_once(poller: Retention) -> int:
    steps = 0
    while await poller.step():
        steps += 1
    return steps


async def test_deletes_clicks_past_the_period(db: Database) -> None:
    await add(db, [click(days_ago) for days_ago in (0, 1, 29, 30, 31, 32, 400)])
    before = await contents(db)
    await run(retention(db, 30))
    assert await days(db) == [0, 1, 29, 30]
    assert await days(db, visitor_days) == [0, 1, 29, 30]
    assert await contents(db) == before
    assert await boundary(db) == 30


async def test_keeps_everything_without_the_setting(db: Database) -> None:
    await add(db, [click(4000)])
    assert await run(retention(db, None)) == 0
    assert await days(db) == [4000]
    async with db.read() as tx:
        assert (await tx.execute(select(click_retention))).all() == []


async def test_resumes_after_an_interruption(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH_SIZE", 3)
    await add(db, [click(40, visitor) for visitor in range(10)] + [click(20), click(0)])
    first = await looked(retention(db, 30))
    assert await first.step()
    assert await days(db) == [0, 20] + [40] * 7
    assert await boundary(db) == 30  # what is still there is not shown any more
    assert await run(retention(db, None)) > 0  # the setting taken back does not bring back what has begun to go
    assert (await days(db), await days(db, visitor_days)) == ([0, 20], [0, 20])


async def test_deletes_in_small_groups(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH_SIZE", 4)
    await add(db, [click(days_ago) for days_ago in (0, 20)] + [click(40, visitor) for visitor in range(10)])
    poller, left = await looked(retention(db, 30)), []
    while await poller.step():
        left.append(len(await days(db)) - 2)
    assert left[:3] == [6, 2, 0]
    assert await days(db, visitor_days) == [0, 20]


async def test_the_boundary_never_goes_back(db: Database) -> None:
    await add(db, [click(days_ago) for days_ago in range(40)])
    await run(retention(db, 10))
    await run(retention(db, 30))
    assert await boundary(db) == 10
    await run(retention(db, 10, FakeClock(START - timedelta(days=7))))
    assert await boundary(db) == 10
    assert await days(db) == [*range(11)]


async def test_deletes_late_clicks(db: Database) -> None:
    poller = retention(db, 30)
    await add(db, [click(0)])
    await run(poller)
    await add(db, [click(50)])  # a spool that lay on a machine nobody started for weeks
    assert await poller.step()
    assert await days(db) == [0]


async def test_a_rebuild_afterwards_changes_nothing(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH_SIZE", 1)
    await add(db, [click(days_ago) for days_ago in (0, 30, 31)])
    before = await contents(db)
    poller = await looked(retention(db, 30))
    assert await poller.step()
    assert (await rebuild(db)).corrected == 0
    await run(poller)
    assert (await rebuild(db)).corrected == 0
    assert await contents(db) == before


@pytest.mark.parametrize("keep", [1, 10_000])
async def test_keeps_today(db: Database, keep: int) -> None:
    await add(db, [click(0)])
    await run(retention(db, keep))
    assert await days(db) == [0]


async def test_a_short_clock_jump_deletes_one_day_at_most(db: Database) -> None:
    await add(db, [click(days_ago) for days_ago in (0, 1, 29, 30)])
    clock = FakeClock()
    poller = await looked(retention(db, 30, clock))
    clock.move(timedelta(days=8000))
    await run_once(poller)
    assert (await days(db), await boundary(db)) == ([0, 1, 29], 29)
    clock.move(timedelta(days=-8000))
    await run_once(poller)
    assert (await days(db), await boundary(db)) == ([0, 1, 29], 29)


async def test_deletes_without_new_clicks(db: Database) -> None:
    await add(db, [click(days_ago) for days_ago in (0, 5)])
    await run(retention(db, 30, FakeClock(START + timedelta(days=33))))
    assert await days(db) == []


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_waits_for_other_writers_of_statistics(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH_SIZE", 1)
    await add(db, [click(0), click(20), click(40), click(40, 1)])
    poller = await looked(retention(db, 30))
    assert await poller.step()  # the boundary is raised
    async with db.write() as tx, asyncio.timeout(60):
        await write.lock(tx)
        step = asyncio.create_task(poller.step())
        while not await tx.scalar(text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")):
            assert not step.done()
    assert await step
    assert await days(db) == [0, 20]


async def test_of_an_account_the_visits_that_were_read_are_deleted(db: Database) -> None:
    """And no combination of their visitors and links: in a large group these would be 250,000."""
    links = sorted(new_id() for _ in range(MAX_LINK_ROWS + 1))  # so many that the account has a row of the visitor, too
    await add(db, [click(0, 1, links[0]), click(0, 2, links[1]), *(click(0, 1, link) for link in links[1:])])

    async def pairs() -> set[tuple[int, UUID]]:
        async with db.read() as tx:
            query = select(visitor_days.c.visitor_id, visitor_days.c.subject_id)
            return {(visitor, subject) for visitor, subject in await tx.execute(query)}

    assert len(await pairs()) == MAX_LINK_ROWS + 3
    steps = delete_account_data(db, ACCOUNT, batch_size=2)
    await anext(steps)
    assert await pairs() == {(1, link) for link in links[1:]}
    assert [step async for step in steps] == [None] * -(-MAX_LINK_ROWS // 2)
    assert (await pairs(), await days(db), await contents(db)) == (set(), [], [[], []])
