"""Top values from the cache are always those that a sum of all days gives."""

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from contexts import new_context
from domains import domain
from people import START
from resources.clicks.visited import SHARED, Env, fill, new_click, new_link, open_env
from resources.links.added import add_links
from sqlalchemy import delete, insert, select, update

from waypost.accounts.model import accounts
from waypost.database import Database, Tx
from waypost.kit.clock import EPOCH, timestamp
from waypost.kit.errors import Problems
from waypost.kit.ids import new_id
from waypost.resources import links
from waypost.resources.clicks.backends.sql import top_values, write
from waypost.resources.clicks.backends.sql.read import SqlReader
from waypost.resources.clicks.backends.sql.rebuild import rebuild
from waypost.resources.clicks.backends.sql.top_values import (
    CachedDays,
    StatsCacheRefresher,
    choose_days_to_cache,
    totals_by_day,
)
from waypost.resources.clicks.days import TimeRange
from waypost.resources.clicks.model import DIMENSIONS, Click, Subject, click_dimensions, top_values_cache
from waypost.resources.clicks.stats.aggregate import Aggregate
from waypost.resources.clicks.stats.query import new_stats_query
from waypost.resources.clicks.stats.read import ACCOUNT_LISTS, LINK_LISTS, read_statistics
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.service import delete_locked
from waypost.resources.links import model as link_model
from waypost.resources.links import store as link_store
from waypost.resources.links.apply import apply
from waypost.resources.links.rules import LinkPlan
from waypost.resources.links.service import hide

ROUNDS = int(os.environ.get("TOP_VALUES_ROUNDS", "12"))
DAY = timedelta(days=1)
TODAY = (START - EPOCH).days
LABELS = ("tags", "hostnames", "utm_campaigns")
LISTS = ("countries", "referrers", "devices", "browsers", "platforms", "top_links", *LABELS)


@pytest.fixture
async def env(db: Database, tmp_path: Path) -> AsyncIterator[Env]:
    async with open_env(db, tmp_path) as opened:
        yield opened


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred clicks count as busy, like a hundred thousand."""
    for name, count in (("CACHE_THRESHOLD", 60), ("TOP_COUNT", 4), ("CACHED_COUNT", 8), ("_MAX_CANDIDATES", 3)):
        monkeypatch.setattr(top_values, name, count)


@pytest.fixture
def uncached(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of days in each sum that the cache did not serve."""
    noted_days: list[int] = []
    rank_values = top_values.rank_values

    async def noted(tx: Any, subject: Any, days: Sequence[int], *rest: Any) -> Any:
        noted_days.append(len(days))
        return await rank_values(tx, subject, days, *rest)

    monkeypatch.setattr(top_values, "rank_values", noted)
    return noted_days


async def refresh(env: Env) -> None:
    refresher = StatsCacheRefresher(env.db, clock=env.clock)
    while await refresher.step():
        pass


async def cached(db: Database) -> dict[tuple[UUID, str], CachedDays]:
    async with db.read() as tx:
        found: dict[tuple[UUID, str], CachedDays] = {}
        for account in await tx.scalars(select(accounts.c.id)):
            found |= await top_values.find_cached_days(tx, account)
        return found


async def lists(env: Env, link: links.Link | None = None, **query: Any) -> dict[str, Any]:
    path = f"/links/{link.id}/stats" if link else "/stats"
    found = (await env.shown(path, **query))["data"]
    return {name: found[name] for name in LISTS if name in found}


async def summed(env: Env, link: links.Link | None = None, **query: Any) -> dict[str, Any]:
    """As `lists`, without the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(top_values, "CACHE_THRESHOLD", 10**9)
        return await lists(env, link, **query)


async def drain(db: Database, made: Sequence[Click]) -> None:
    """As the drain does."""
    async with db.write() as tx:
        await write.save(tx, Aggregate.of(made))
        await links.add_clicks(tx, Aggregate.of(made).clicks_per_link(), last_at=0)


def at(days_ago: int, hour: int = 12) -> Any:
    return START.replace(hour=0) - days_ago * DAY + timedelta(hours=hour)


def some(link: links.Link, days_ago: int, count: int, **fields: Any) -> list[Click]:
    return [new_click(link, at(days_ago), visitor_id=number, **fields) for number in range(count)]


ODD = ["", "a", "A", "é", "e\u0301", "ß", "😀", "\uffff", "z\\", "\"q'", "null", "1", "1.0", "[", "a\u00a0"]


async def three_weeks(env: Env, chance: random.Random) -> list[links.Link]:
    """Of a dozen links few get most clicks; and each day something gets more than usual."""
    made, clicks = [await env.link() for _ in range(12)], []
    for days_ago in range(21):
        hot = chance.randrange(12)
        for _ in range(chance.randrange(60)):
            link = made[hot if chance.random() < 0.2 else int(12 * chance.random() ** 2)]
            click = new_click(link, at(days_ago, 0) + timedelta(minutes=chance.randrange(720)), visitor_id=1)
            click = click._replace(
                country=chr(65 + int(20 * chance.random() ** 3)) * 2,
                referrer=ODD[hot if chance.random() < 0.2 else int(len(ODD) * chance.random() ** 2)],
                browser=chance.choice(["Firefox", "Chrome", "Safari"]),
            )
            clicks.append(click)
    await fill(env.db, clicks)
    return made


async def cache_some(env: Env, link: links.Link, chance: random.Random) -> None:
    """Of some days, whichever."""
    async with env.db.write() as tx:
        await top_values.clear_cache(tx)
        for subject in (Subject(env.alice.account_id), Subject(env.alice.account_id, link.id)):
            of_days = await totals_by_day(tx, subject.id, range(TODAY - 21, TODAY + 1))
            days = list(of_days)[chance.randrange(6) : chance.randrange(12, 21)]
            clicks = sum(of_days[day].clicks for day in days)
            found = await top_values.rank_values(tx, subject, days, (), top_values.CACHED_COUNT)
            row = {"subject_id": subject.id, "time_range": "some", "account_id": env.alice.account_id, "clicks": clicks}
            rest = {"first_day": days[0], "last_day": days[-1], "top_values": json.dumps(found), "attempt": new_id()}
            await tx.execute(insert(top_values_cache).values(row | rest))


@pytest.mark.parametrize("seed", range(2))
async def test_cached_lists_equal_summed_lists(env: Env, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = random.Random(seed)
    made = await three_weeks(env, chance)
    from_cache_count = 0
    rank_with_cache = top_values._rank_with_cache

    async def noted(*given: Any) -> Any:
        nonlocal from_cache_count
        found = await rank_with_cache(*given)
        from_cache_count += found is not None
        return found

    monkeypatch.setattr(top_values, "_rank_with_cache", noted)
    for _ in range(ROUNDS):
        for name, count in (
            ("TOP_COUNT", chance.choice([1, 2, 4, 6])),
            ("_MAX_CANDIDATES", chance.choice([0, 3, 10, 30])),
        ):
            monkeypatch.setattr(top_values, name, count)
        monkeypatch.setattr(top_values, "CACHED_COUNT", top_values.TOP_COUNT + chance.choice([0, 1, 4, 9]))
        await cache_some(env, made[0], chance)
        start = START - timedelta(minutes=chance.randrange(16 * 1440, 22 * 1440))
        end = START + DAY - timedelta(minutes=chance.randrange(4 * 1440))
        query = new_stats_query(TimeRange(start, end), "month", chance.choice(["UTC", "America/Los_Angeles"]))
        subject = chance.choice((Subject(env.alice.account_id), Subject(env.alice.account_id, made[0].id)))
        found = []
        for busy in (0, 10**9):  # the second counts
            monkeypatch.setattr(top_values, "CACHE_THRESHOLD", busy)
            async with env.db.read() as tx:
                lists = (LINK_LISTS if subject.link_id else ACCOUNT_LISTS).values()
                reader = SqlReader(tx)
                statistics = await read_statistics(reader, subject, query, START + DAY, shared_domain="x", lists=lists)
                found.append(statistics.lists)
        assert found[0] == found[1]
    assert from_cache_count >= ROUNDS // 4


async def test_a_time_range_of_the_dashboard_is_served_from_the_cache(env: Env, uncached: list[int]) -> None:
    made = [await env.link() for _ in range(12)]
    clicks = [click for day in range(40) for n, link in enumerate(made) for click in some(link, day, max(0, 9 - n))]
    await fill(env.db, clicks)
    await refresh(env)
    for zone in ("UTC", "America/Los_Angeles", "Pacific/Auckland", "Asia/Kathmandu"):
        uncached.clear()
        found = await lists(env, timezone=zone)
        assert len(found["top_links"]) == 4
        assert uncached == []
        assert found == await summed(env, timezone=zone)


async def test_values_that_rise_today_are_listed(env: Env, uncached: list[int]) -> None:
    made = [await env.link() for _ in range(12)]
    before = [click for day in range(1, 30) for n, link in enumerate(made) for click in some(link, day, 12 - n)]
    new = await env.link()
    await fill(env.db, [*before, *some(new, 0, 300), *some(made[10], 0, 400, referrer="https://new.example/")])
    await refresh(env)
    uncached.clear()
    found = await lists(env)
    assert [each["clicks"] for each in found["top_links"]] == [28 * 2 + 2 + 400, 29 * 12, 29 * 11, 300 + 0]
    assert [each["value"] for each in found["referrers"]] == ["", "https://new.example/"]
    assert uncached == []
    assert found == await summed(env)


async def test_a_cached_value_loses_its_rank_by_a_partial_day(
    env: Env, monkeypatch: pytest.MonkeyPatch, uncached: list[int]
) -> None:
    """The first of them had most of its clicks in the hours of a day that the time range leaves out."""
    for name, count in (("CACHE_THRESHOLD", 40), ("TOP_COUNT", 2), ("CACHED_COUNT", 3)):
        monkeypatch.setattr(top_values, name, count)
    a, b, c, d = [await env.link() for _ in range(4)]
    left_out = [new_click(a, at(10, 2), visitor_id=number) for number in range(15)]
    run = [*some(a, 9, 5), *some(b, 9, 19), *some(c, 9, 9), *some(d, 9, 8)]
    await fill(env.db, [*some(b, 20, 1), *left_out, *run, *some(d, 0, 3)])
    await refresh(env)
    uncached.clear()
    found = await lists(env, from_=timestamp(at(10, 6)))
    assert [each["clicks"] for each in found["top_links"]] == [19, 11]
    assert uncached == []


async def test_too_many_candidates_are_summed_up_without_the_cache(env: Env, uncached: list[int]) -> None:
    made = [await env.link() for _ in range(12)]
    new = [await env.link() for _ in range(5)]
    before = [click for day in range(1, 30) for link in made for click in some(link, day, 2)]
    await fill(env.db, [*before, *(click for link in new for click in some(link, 0, 60))])
    await refresh(env)
    uncached.clear()
    found = await lists(env)
    assert {each["clicks"] for each in found["top_links"]} == {60}
    assert len(uncached) == 1
    assert found == await summed(env)


async def test_few_clicks_are_not_cached(env: Env, uncached: list[int]) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(10) for click in some(link, day, 5)])
    await refresh(env)
    assert await cached(env.db) == {}
    assert (await lists(env))["countries"] == [{"value": "DE", "clicks": 50}]
    assert len(uncached) == 1


async def test_late_clicks_are_listed_at_once(env: Env, uncached: list[int]) -> None:
    link, other = await env.link(), await env.link()
    await fill(env.db, [click for day in range(1, 29) for click in some(link, day, 5)])
    await refresh(env)
    before = await cached(env.db)
    await drain(env.db, some(other, 3, 70))
    uncached.clear()
    assert [each["clicks"] for each in (await lists(env))["top_links"]] == [140, 70]
    assert len(uncached) == 1  # until the next look
    await refresh(env)
    assert (await cached(env.db)).keys() == before.keys() | {(env.alice.account_id, "7d")}
    uncached.clear()
    assert [each["clicks"] for each in (await lists(env))["top_links"]] == [140, 70]
    assert uncached == []


async def test_runs_move_on_with_the_days(env: Env) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(90) for click in some(link, day, 5)])
    await refresh(env)
    before = await cached(env.db)
    env.clock.move(DAY)
    assert (await lists(env))["top_links"][0]["clicks"] == 29 * 5
    await refresh(env)
    after = await cached(env.db)
    its = env.alice.account_id, "30d"
    assert (before[its].last_day, after[its].last_day) == (TODAY - 1, TODAY)
    env.clock.move(60 * DAY)
    await refresh(env)
    assert {time_range for _, time_range in await cached(env.db)} == {"90d", "12m"}


async def test_current_runs_are_not_refreshed(env: Env, uncached: list[int]) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(30) for click in some(link, day, 5)])
    await refresh(env)
    assert len(uncached) == 2  # of the account and of the link
    await refresh(env)
    assert len(uncached) == 2


async def test_a_step_refreshes_one_run(env: Env) -> None:
    """So a worker that shall stop has little to wait for."""
    link = await env.link()
    await fill(env.db, [click for day in range(60) for click in some(link, day, 5)])
    refresher, held = StatsCacheRefresher(env.db, clock=env.clock), []
    while await refresher.step():
        held.append(len(await cached(env.db)))
    assert held == [0, 1, 2, 3, 4, 4]  # Alice is looked at, her runs and her link's, Bob is looked at


async def test_a_run_with_few_of_the_clicks_is_not_used(env: Env, uncached: list[int]) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(60) for click in some(link, day, 20 if day < 6 else 30)])
    await refresh(env)
    async with env.db.write() as tx:
        await tx.execute(delete(top_values_cache).where(top_values_cache.c.time_range != "7d"))
    uncached.clear()
    assert (await lists(env))["countries"] == [{"value": "DE", "clicks": 6 * 20 + 24 * 30}]
    assert len(uncached) == 1
    week = {"from_": timestamp(at(5, 0)), "to": timestamp(START)}
    assert (await lists(env, **week))["countries"] == [{"value": "DE", "clicks": 120}]
    assert len(uncached) == 1


async def test_all_accounts_are_checked_in_each_round(env: Env) -> None:
    refresher = StatsCacheRefresher(env.db, clock=env.clock)
    assert [await refresher.step() for _ in range(6)] == [True, True, False, True, True, False]  # Alice, Bob


async def test_a_rebuild_clears_the_cache(env: Env) -> None:
    """It corrects values where the sum of their clicks was right."""
    link, other = await env.link(), await env.link()
    made = [*(click for day in range(1, 30) for click in some(link, day, 5)), *some(other, 2, 1)]
    await fill(env.db, made)
    its = click_dimensions.c.day == TODAY - 2, click_dimensions.c.dimension == DIMENSIONS["country"]
    async with env.db.write() as tx:
        await tx.execute(update(click_dimensions).where(*its).values(value="XX"))
    await refresh(env)
    assert (await lists(env))["countries"][1]["value"] == "XX"
    await rebuild(env.db)
    assert await cached(env.db) == {}
    assert (await lists(env))["countries"] == [{"value": "DE", "clicks": 146}]
    await refresh(env)
    assert (await lists(env))["countries"] == [{"value": "DE", "clicks": 146}]


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("another_begins", [False, True])
async def test_a_refresh_does_not_overwrite_a_correction(
    env: Env, monkeypatch: pytest.MonkeyPatch, is_there: bool, another_begins: bool
) -> None:
    """`is_there`: top values of the day before are cached. `another_begins`: another worker, after the correction."""
    link = await env.link()
    await fill(env.db, [click for day in range(30) for click in some(link, day, 5)])
    rank_values = top_values.rank_values
    if is_there:
        await refresh(env)
        env.clock.move(DAY)

    async def overtaken(*given: Any) -> Any:
        found = await rank_values(*given)
        async with env.db.write() as tx:
            await top_values.clear_cache_of(tx, env.alice.account_id)
        if another_begins:
            monkeypatch.setattr(top_values, "rank_values", ended)
            with pytest.raises(ZeroDivisionError):
                await refresh(env)
            monkeypatch.setattr(top_values, "rank_values", overtaken)
        return found

    async def ended(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(top_values, "rank_values", overtaken)
    await refresh(env)
    assert {run.clicks for run in (await cached(env.db)).values()} <= {0}
    monkeypatch.setattr(top_values, "rank_values", rank_values)
    assert (await lists(env))["top_links"][0]["clicks"] >= 29 * 5
    await refresh(env)
    assert min(run.clicks for run in (await cached(env.db)).values()) >= 28 * 5


async def test_a_refresh_waits_for_a_correction(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    """On PostgreSQL, what it takes away does not yet hold the row that would be made meanwhile."""
    link = await env.link()
    made = [click for day in range(1, 30) for click in some(link, day, 5)]
    await fill(env.db, made)
    await rebuild(env.db)
    its = click_dimensions.c.day == TODAY - 2, click_dimensions.c.dimension == DIMENSIONS["country"]
    async with env.db.write() as tx:
        await tx.execute(update(click_dimensions).where(*its).values(value="XX"))
    has_cleared, clear = asyncio.Event(), top_values.clear_cache_of
    keeping: list[asyncio.Task[None]] = []

    async def slow(tx: Any, account_id: UUID) -> None:
        await clear(tx, account_id)
        if not keeping:
            keeping.append(asyncio.create_task(refresh(env)))
            await asyncio.wait(keeping, timeout=0.5)  # it waits for this very transaction
            has_cleared.set()

    monkeypatch.setattr(top_values, "clear_cache_of", slow)
    await rebuild(env.db)
    await asyncio.gather(*keeping)
    assert has_cleared.is_set()
    assert (await lists(env))["countries"] == [{"value": "DE", "clicks": 145}]


async def test_a_partial_day_with_very_many_values_is_not_read_from_the_cache(
    env: Env, monkeypatch: pytest.MonkeyPatch, uncached: list[int]
) -> None:
    """The referrer is chosen by the visitor."""
    monkeypatch.setattr(top_values, "_MAX_PARTIAL_DAY_VALUES", 20)
    link = await env.link()
    before = [click for day in range(2, 30) for click in some(link, day, 5)]
    await fill(env.db, before + [new_click(link, at(1, 5), referrer=f"https://{n}.example/") for n in range(20)])
    await refresh(env)
    uncached.clear()
    found = await lists(env, from_=timestamp(at(30)), to=timestamp(at(1, 8)))
    assert found["referrers"][0] == {"value": "", "clicks": 140}
    assert len(uncached) == 1


async def test_a_deleted_account_is_skipped(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(1, 30) for click in some(link, day, 5)])
    refresher = StatsCacheRefresher(env.db, clock=env.clock)
    assert await refresher.step()
    async with env.db.write() as tx:
        await tx.execute(delete(link_model.links))
        await tx.execute(delete(accounts).where(accounts.c.id == env.alice.account_id))
    while await refresher.step():
        pass
    assert await cached(env.db) == {}


async def test_runs_of_deleted_links_are_removed(env: Env) -> None:
    link, other = await env.link(), await env.link()
    await fill(env.db, [click for day in range(1, 30) for each in (link, other) for click in some(each, day, 5)])
    await refresh(env)
    assert {subject for subject, _ in await cached(env.db)} == {env.alice.account_id, link.id, other.id}
    async with env.db.write() as tx:
        await link_store.hide(tx, [other], START)
    await refresh(env)
    assert {subject for subject, _ in await cached(env.db)} == {env.alice.account_id, link.id}
    async with env.db.write() as tx:
        await tx.execute(delete(link_model.links))
        await tx.execute(delete(accounts).where(accounts.c.id == env.alice.account_id))
        assert (await tx.execute(select(top_values_cache))).all() == []


def test_chooses_days_for_each_time_range() -> None:
    clicks = dict.fromkeys(range(TODAY - 500, TODAY + 2), 20)
    found = choose_days_to_cache(clicks, TODAY)
    assert {time_range: TODAY - days.first_day for time_range, days in found.items()} == {
        "7d": 5,
        "30d": 28,
        "90d": 88,
        "12m": 333,  # from the second day of February 2029
        "all": 499,
    }
    assert {TODAY - run.last_day for run in found.values()} == {1}
    assert found["7d"].clicks == 100


def test_runs_begin_and_end_with_a_day_with_clicks() -> None:
    clicks = {TODAY - 20: 1000, TODAY - 10: 50, TODAY - 4: 5, TODAY - 3: 6, TODAY: 1000}
    assert choose_days_to_cache(clicks, TODAY) == {
        "30d": CachedDays(TODAY - 10, TODAY - 3, 61)
    }  # the first day may have begun elsewhere
    assert choose_days_to_cache({}, TODAY) == {}


@pytest.fixture
def summed_days(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of days in each sum of labels that the cache did not serve."""
    noted_days: list[int] = []
    sum_label_values = top_values.sum_label_values

    async def noted(tx: Any, subject: Any, days: Sequence[int], *rest: Any, **more: Any) -> Any:
        noted_days.append(len(days))
        return await sum_label_values(tx, subject, days, *rest, **more)

    monkeypatch.setattr(top_values, "sum_label_values", noted)
    return noted_days


async def test_labels_are_cached_until_links_get_others(env: Env, summed_days: list[int]) -> None:
    context = new_context(env.db, env.clock)
    account = env.alice.account_id
    own = await domain(env.db, env.alice.account_id, "x.example")
    made = [await env.link(tags=["a", f"t{n}"], domain_id=own, hostname="x.example") for n in range(3)]
    made.append(await env.link(utm_params={"utm_campaign": "spring"}))
    await fill(env.db, [click for day in range(20) for link in made for click in some(link, day, 5)])

    async def change(tx: Tx, link: links.Link, **fields: Any) -> None:
        await apply(context, tx, account, [LinkPlan(link, replace(link, **fields))], Problems())

    async def shown() -> dict[str, dict[str, int]]:
        found = await lists(env)
        return {name: {each["value"]: each["clicks"] for each in found[name]} for name in LABELS}

    await refresh(env)
    summed_days.clear()
    assert await shown() == {
        "tags": {"a": 300, "t0": 100, "t1": 100, "t2": 100},
        "hostnames": {"x.example": 300, SHARED: 100},
        "utm_campaigns": {"spring": 100},
    }
    assert summed_days == [2]  # today, and the first day
    async with env.db.write() as tx:  # a new link, and another field
        await add_links(tx, [new_link(account, tags=["b"])])
        await change(tx, made[0], title="B")
    summed_days.clear()
    assert (await shown())["tags"]["a"] == 300
    assert summed_days == [2]

    async def delete_domain(tx: Tx) -> None:
        domain = await domain_store.get_for_update(tx, account, own)
        await delete_locked(links.domain_deps(context), tx, domain)

    changes: list[tuple[Callable[[Tx], Awaitable[Any]], str, dict[str, int]]] = [
        (lambda tx: change(tx, made[0], tags=["a"]), "tags", {"a": 300, "t1": 100, "t2": 100}),
        (lambda tx: change(tx, made[3], utm_params={}), "utm_campaigns", {}),
        (lambda tx: hide(cast("Any", context), tx, [made[2]]), "tags", {"a": 200, "t1": 100}),
        (lambda tx: change(tx, made[1], domain_id=None), "hostnames", {"x.example": 200, SHARED: 200}),
        (delete_domain, "hostnames", {SHARED: 400}),
    ]
    for make, name, expected in changes:
        async with env.db.write() as tx:
            await make(tx)
        summed_days.clear()
        assert (await shown())[name] == expected
        assert summed_days == [20]
        await refresh(env)
        summed_days.clear()
        assert (await shown())[name] == expected
        assert summed_days == [2]
