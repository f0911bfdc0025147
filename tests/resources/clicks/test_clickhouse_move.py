"""What PostgreSQL has stored is in ClickHouse after `waypost clicks move`: every statistic is the same."""

import os
import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from people import START
from resources.clicks.visited import SHARED, Env, fill, some_clicks, spread
from sqlalchemy import delete, insert

from waypost.kit.clock import EPOCH
from waypost.resources import links
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore, move
from waypost.resources.clicks.backends.clickhouse.client import ClickStoreUnavailable
from waypost.resources.clicks.backends.clickhouse.move import ClickMove
from waypost.resources.clicks.backends.clickhouse.rebuild import check
from waypost.resources.clicks.backends.sql import SqlClickStore
from waypost.resources.clicks.backends.sql import write as sql_store
from waypost.resources.clicks.days import TimeRange
from waypost.resources.clicks.model import Click, Subject, click_retention, clicks
from waypost.resources.clicks.stats.query import new_stats_query
from waypost.resources.clicks.stats.read import ACCOUNT_LISTS, LINK_LISTS, read_statistics

pytestmark = pytest.mark.parametrize("urls", ["clickhouse"], indirect=True)
TODAY = (START - EPOCH).days
MOVE_DAYS = int(os.environ.get("MOVE_DAYS", "10"))
"""40 in `make test-slow`."""


async def stored(env: Env, days: int, count: int) -> tuple[list[links.Link], list[Click]]:
    """In PostgreSQL: clicks of three links."""
    chance = random.Random(3)
    made = [await env.link(), await env.link(), await env.link(env.bob)]
    start = START - timedelta(days=days)
    visits = [each for link in made for each in some_clicks(link, spread(start, START, count, chance), chance, 20)]
    await fill(env.db, visits)
    return made, visits


async def retain(env: Env, kept_since: int) -> None:
    async with env.db.write() as tx:
        await tx.execute(delete(clicks).where(clicks.c.day < kept_since))
        await tx.execute(insert(click_retention), {"id": 1, "kept_since": kept_since})


async def contents(store: ClickHouseStore) -> list[Sequence[Any]]:
    """The sums of each table."""
    return [
        (await store.client.query(query))[0]
        for query in (
            "SELECT count(), uniqExact(id) FROM clicks",
            "SELECT sum(clicks), sum(crawlers), sum(scans), min(first_at), max(last_at) FROM click_counts",
            "SELECT sum(clicks), sum(clicks * dimension) FROM click_dimensions",
            "SELECT sum(visitors), sum(new_in_15), sum(lasts) FROM visitor_counts FINAL",
        )
    ]


async def statistics(env: Env, store: SqlClickStore | ClickHouseStore, made: Sequence[links.Link]) -> list[Any]:
    """Of every link and account, in time ranges that begin on quarters of an hour."""
    found = []
    subjects = [Subject(link.account_id, link.id) for link in made]
    for subject in [*subjects, *{Subject(link.account_id) for link in made}]:
        for days, interval, zone in ((60, "day", "UTC"), (45, "day", "Asia/Kolkata"), (39, "hour", "UTC")):
            time_range = TimeRange(START.replace(hour=0) - timedelta(days=days), START)
            query = new_stats_query(time_range, interval, zone)  # type: ignore[arg-type]
            async with store.reader(env.db) as reader:
                lists = (LINK_LISTS if subject.link_id else ACCOUNT_LISTS).values()
                read = await read_statistics(reader, subject, query, START, shared_domain=SHARED, lists=lists)
            found.append((read.total, read.points, read.hours, read.lists if zone == "UTC" else None))
    return found


async def moved(env: Env, store: ClickHouseStore) -> None:
    assert await ClickMove(env.db, store, clock=env.clock).run() == []


async def test_moves_all_days_with_retention(env: Env, store: ClickHouseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(move, "_PAGE_SIZE", 50)
    made, _ = await stored(env, MOVE_DAYS, 18 * MOVE_DAYS)
    await retain(env, TODAY - MOVE_DAYS // 4)
    before = await statistics(env, SqlClickStore(), made)
    await moved(env, store)
    assert await statistics(env, store, made) == before
    sums = await contents(store)
    await moved(env, store)
    assert await contents(store) == sums
    assert [each async for each in check(env.db, store.client)] == []


@pytest.mark.parametrize("table", ["clicks", "click_counts", "click_dimensions", "visitor_counts"])
async def test_continues_after_an_interruption(
    env: Env,
    store: ClickHouseStore,
    clickhouse: Any,
    table: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(move, "_PAGE_SIZE", 20)
    made, _ = await stored(env, 4, 60)
    await retain(env, TODAY - 1)
    before = await statistics(env, SqlClickStore(), made)
    for executed in (False, True):
        clickhouse.faults.delay(0, f"INSERT INTO `?{table}`?", times=2)
        clickhouse.faults.error(f"INSERT INTO `?{table}`?", executed=executed)
        with pytest.raises(ClickStoreUnavailable):
            await ClickMove(env.db, store, clock=env.clock).run()
    await moved(env, store)
    assert await statistics(env, store, made) == before
    assert (await store.client.query("SELECT count() - uniqExact(id) FROM clicks"))[0] == (0,)


async def test_repairs_sums_that_a_crash_of_the_server_has_left(env: Env, store: ClickHouseStore) -> None:
    made, _ = await stored(env, 2, 30)
    before = await statistics(env, SqlClickStore(), made)
    await moved(env, store)
    await store.client.command(f"DELETE FROM click_dimensions WHERE day = {TODAY - 1}")
    await moved(env, store)
    assert await statistics(env, store, made) == before


async def test_moves_clicks_that_arrived_later(env: Env, store: ClickHouseStore) -> None:
    (link, *_), _ = await stored(env, 2, 30)
    await moved(env, store)
    chance = random.Random(9)
    late = some_clicks(link, spread(START - timedelta(days=2), START, 10, chance), chance)
    async with env.db.write() as tx:
        await sql_store.add(tx, late)
    await moved(env, store)
    assert (await store.client.query("SELECT count(), uniqExact(id) FROM clicks"))[0] == (100, 100)
    counts = "SELECT sum(clicks + crawlers + previews + prefetches) FROM click_counts"
    assert (await store.client.query(counts))[0] == (200,)


async def test_reports_days_that_differ(env: Env, store: ClickHouseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await stored(env, 1, 10)

    async def nothing(*_: object) -> None:
        """As if more clicks had arrived."""

    monkeypatch.setattr(ClickMove, "_move_clicks", nothing)
    different = await ClickMove(env.db, store, clock=env.clock).run()
    assert sum(each.source for each in different) == 30
    assert {each.target for each in different} == {0}
