"""Lists of values told by what is kept of a period: always those that a count of all its days gives."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from people import START
from resources.clicks.visited import Env, fill, new_click, open_env
from sqlalchemy import delete, insert, select, update

from waypost.auth.model import accounts
from waypost.database import Database
from waypost.kit.clock import EPOCH, timestamp
from waypost.kit.ids import new_id
from waypost.resources import links
from waypost.resources.clicks.model import DIMENSIONS, Click, click_dimensions, click_leaders
from waypost.resources.clicks.stats.aggregate import rollups
from waypost.resources.clicks.stats.aggregate.batch import tally
from waypost.resources.clicks.stats.query import divided
from waypost.resources.clicks.stats.read import service, top_values, totals, values
from waypost.resources.clicks.stats.read.top_values import Run
from waypost.resources.clicks.stats.read.top_values_cache import RunKeeper, runs
from waypost.resources.clicks.stats.rebuild.service import rebuild
from waypost.resources.clicks.subject import Subject
from waypost.resources.links import store as link_store

DAY = timedelta(days=1)
TODAY = (START - EPOCH).days
LISTS = ("countries", "referrers", "devices", "browsers", "platforms", "top_links")


@pytest.fixture
async def env(db: Database, tmp_path: Path) -> AsyncIterator[Env]:
    async with open_env(db, tmp_path) as opened:
        yield opened


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred clicks are as many as a hundred thousand."""
    for name, count in (("BUSY", 60), ("TOP", 4), ("LEADERS", 8), ("_STRANGERS", 3)):
        monkeypatch.setattr(top_values, name, count)


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many days were added up each time, where leaders did not do."""
    asked: list[int] = []
    ranked = values.ranked

    async def noted(tx: Any, subject: Any, days: Sequence[int], *rest: Any) -> Any:
        asked.append(len(days))
        return await ranked(tx, subject, days, *rest)

    monkeypatch.setattr(values, "ranked", noted)
    return asked


class Ticks:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def keep(env: Env) -> None:
    keeper = RunKeeper(env.db, clock=env.clock, monotonic=Ticks())
    while await keeper.step():
        pass


async def kept(db: Database) -> dict[tuple[UUID, str], Run]:
    async with db.read() as tx:
        found: dict[tuple[UUID, str], Run] = {}
        for account in await tx.scalars(select(accounts.c.id)):
            found |= await top_values.kept(tx, account)
        return found


async def lists(env: Env, link: links.Link | None = None, **query: Any) -> dict[str, Any]:
    path = f"/links/{link.id}/stats" if link else "/stats"
    told = (await env.shown(path, **query))["data"]
    return {name: told[name] for name in LISTS if name in told}


async def counted(env: Env, link: links.Link | None = None, **query: Any) -> dict[str, Any]:
    """As `lists`, without leaders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(top_values, "BUSY", 10**9)
        return await lists(env, link, **query)


async def come(db: Database, made: Sequence[Click]) -> None:
    """As the drain counts them, on top of what is there."""
    async with db.write() as tx:
        await rollups.add(tx, tally(made))
        await links.add_clicks(tx, tally(made).clicks_of_links())


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
            click.country = chr(65 + int(20 * chance.random() ** 3)) * 2
            click.referrer = ODD[hot if chance.random() < 0.2 else int(len(ODD) * chance.random() ** 2)]
            click.browser = chance.choice(["Firefox", "Chrome", "Safari"])
            clicks.append(click)
    await fill(env.db, clicks)
    return made


async def keep_some(env: Env, link: links.Link, chance: random.Random) -> None:
    """Of some days, whichever."""
    async with env.db.write() as tx:
        await top_values.forget(tx)
        for subject in (Subject(env.alice.account_id, is_account=True), Subject(link.id)):
            of_days = await totals.of_days(tx, subject.id, range(TODAY - 21, TODAY + 1))
            days = list(of_days)[chance.randrange(6) : chance.randrange(12, 21)]
            clicks = sum(of_days[day].clicks for day in days)
            found = await values.ranked(tx, subject, days, (), top_values.LEADERS)
            row = {"subject_id": subject.id, "period": "some", "account_id": env.alice.account_id, "clicks": clicks}
            rest = {"first_day": days[0], "last_day": days[-1], "leaders": json.dumps(found), "attempt": new_id()}
            await tx.execute(insert(click_leaders).values(row | rest))


@pytest.mark.parametrize("seed", range(5))
async def test_lists_are_those_of_a_count(env: Env, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = random.Random(seed)
    made = await three_weeks(env, chance)
    told_by_leaders = 0
    from_run = top_values._from_run

    async def noted(*given: Any) -> Any:
        nonlocal told_by_leaders
        found = await from_run(*given)
        told_by_leaders += found is not None
        return found

    monkeypatch.setattr(top_values, "_from_run", noted)
    for number in range(60):
        for name, count in (("TOP", chance.choice([1, 2, 4, 6])), ("_STRANGERS", chance.choice([0, 3, 10, 30]))):
            monkeypatch.setattr(top_values, name, count)
        monkeypatch.setattr(top_values, "LEADERS", top_values.TOP + chance.choice([0, 1, 4, 9]))
        monkeypatch.setattr(values, "_FEW", (0, 5, 1000)[number % 3])
        await keep_some(env, made[0], chance)
        start = START - timedelta(minutes=chance.randrange(16 * 1440, 22 * 1440))
        end = START + DAY - timedelta(minutes=chance.randrange(4 * 1440))
        asked = divided(start, end, "month", chance.choice(["UTC", "America/Los_Angeles"]))
        subject = chance.choice((Subject(env.alice.account_id, is_account=True), Subject(made[0].id)))
        found = []
        for busy in (0, 10**9):  # the second counts
            monkeypatch.setattr(top_values, "BUSY", busy)
            async with env.db.read() as tx:
                found.append((await service.read(tx, subject, asked, shared_domain="x", now=START + DAY)).values)
        assert found[0] == found[1]
    assert told_by_leaders >= 15


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Pacific/Auckland", "Asia/Kathmandu"])
async def test_a_usual_period_is_told_by_leaders(env: Env, sums: list[int], zone: str) -> None:
    made = [await env.link() for _ in range(12)]
    clicks = [click for day in range(40) for n, link in enumerate(made) for click in some(link, day, max(0, 9 - n))]
    await fill(env.db, clicks)
    await keep(env)
    sums.clear()
    told = await lists(env, timezone=zone)
    assert len(told["top_links"]) == 4
    assert sums == []
    assert told == await counted(env, timezone=zone)


async def test_who_comes_up_today_is_told(env: Env, sums: list[int]) -> None:
    made = [await env.link() for _ in range(12)]
    before = [click for day in range(1, 30) for n, link in enumerate(made) for click in some(link, day, 12 - n)]
    new = await env.link()
    await fill(env.db, [*before, *some(new, 0, 300), *some(made[10], 0, 400, referrer="https://new.example/")])
    await keep(env)
    sums.clear()
    told = await lists(env)
    assert [each["clicks"] for each in told["top_links"]] == [28 * 2 + 2 + 400, 29 * 12, 29 * 11, 300 + 0]
    assert [each["value"] for each in told["referrers"]] == ["", "https://new.example/"]
    assert sums == []
    assert told == await counted(env)


async def test_what_is_taken_off_a_leader_lets_others_up(
    env: Env, monkeypatch: pytest.MonkeyPatch, sums: list[int]
) -> None:
    """The first of them had most of its clicks in the hours of a day that the period leaves out."""
    for name, count in (("BUSY", 40), ("TOP", 2), ("LEADERS", 3)):
        monkeypatch.setattr(top_values, name, count)
    a, b, c, d = [await env.link() for _ in range(4)]
    left_out = [new_click(a, at(10, 2), visitor_id=number) for number in range(15)]
    run = [*some(a, 9, 5), *some(b, 9, 19), *some(c, 9, 9), *some(d, 9, 8)]
    await fill(env.db, [*some(b, 20, 1), *left_out, *run, *some(d, 0, 3)])
    await keep(env)
    sums.clear()
    told = await lists(env, from_=timestamp(at(10, 6)))
    assert [each["clicks"] for each in told["top_links"]] == [19, 11]
    assert sums == []


async def test_where_too_many_come_up_all_is_counted(env: Env, sums: list[int]) -> None:
    made = [await env.link() for _ in range(12)]
    new = [await env.link() for _ in range(5)]
    before = [click for day in range(1, 30) for link in made for click in some(link, day, 2)]
    await fill(env.db, [*before, *(click for link in new for click in some(link, 0, 60))])
    await keep(env)
    sums.clear()
    told = await lists(env)
    assert {each["clicks"] for each in told["top_links"]} == {60}
    assert len(sums) == 1
    assert told == await counted(env)


async def test_few_clicks_are_counted(env: Env, sums: list[int]) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(10) for click in some(link, day, 5)])
    await keep(env)
    assert await kept(env.db) == {}
    assert (await lists(env))["countries"] == [{"value": "DE", "clicks": 50}]
    assert len(sums) == 1


async def test_clicks_that_come_late_are_told_at_once(env: Env, sums: list[int]) -> None:
    link, other = await env.link(), await env.link()
    await fill(env.db, [click for day in range(1, 29) for click in some(link, day, 5)])
    await keep(env)
    before = await kept(env.db)
    await come(env.db, some(other, 3, 70))
    sums.clear()
    assert [each["clicks"] for each in (await lists(env))["top_links"]] == [140, 70]
    assert len(sums) == 1  # until the next look
    await keep(env)
    assert (await kept(env.db)).keys() == before.keys() | {(env.alice.account_id, "7d")}
    sums.clear()
    assert [each["clicks"] for each in (await lists(env))["top_links"]] == [140, 70]
    assert sums == []


async def test_days_go_by(env: Env) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(90) for click in some(link, day, 5)])
    await keep(env)
    before = await kept(env.db)
    env.clock.move(DAY)
    assert (await lists(env))["top_links"][0]["clicks"] == 29 * 5
    await keep(env)
    after = await kept(env.db)
    its = env.alice.account_id, "30d"
    assert (before[its].last, after[its].last) == (TODAY - 1, TODAY)
    env.clock.move(60 * DAY)
    await keep(env)
    assert {period for _, period in await kept(env.db)} == {"90d", "12m"}


async def test_nothing_is_made_anew_without_need(env: Env, sums: list[int]) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(30) for click in some(link, day, 5)])
    await keep(env)
    assert len(sums) == 2  # of the account and of the link
    await keep(env)
    assert len(sums) == 2


async def test_a_step_adds_up_one_run(env: Env) -> None:
    """So a worker that shall stop has little to wait for."""
    link = await env.link()
    await fill(env.db, [click for day in range(60) for click in some(link, day, 5)])
    keeper, held = RunKeeper(env.db, clock=env.clock, monotonic=Ticks()), []
    while await keeper.step():
        held.append(len(await kept(env.db)))
    assert held == [0, 1, 2, 3, 4, 4]  # Alice is looked at, her runs and her link's, Bob is looked at


async def test_a_run_of_few_of_the_clicks_is_not_used(env: Env, sums: list[int]) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(60) for click in some(link, day, 20 if day < 6 else 30)])
    await keep(env)
    async with env.db.write() as tx:
        await tx.execute(delete(click_leaders).where(click_leaders.c.period != "7d"))
    sums.clear()
    assert (await lists(env))["countries"] == [{"value": "DE", "clicks": 6 * 20 + 24 * 30}]
    assert len(sums) == 1
    week = {"from_": timestamp(at(5, 0)), "to": timestamp(START)}
    assert (await lists(env, **week))["countries"] == [{"value": "DE", "clicks": 120}]
    assert len(sums) == 1


async def test_a_look_each_hour(env: Env) -> None:
    ticks = Ticks()
    keeper = RunKeeper(env.db, clock=env.clock, monotonic=ticks)
    assert [await keeper.step() for _ in range(4)] == [True, True, False, False]  # Alice, Bob
    ticks.now = 3599.0
    assert not await keeper.step()
    ticks.now = 3600.0
    assert await keeper.step()


async def test_a_rebuild_makes_them_forgotten(env: Env) -> None:
    """It corrects values where the sum of their clicks was right."""
    link, other = await env.link(), await env.link()
    made = [*(click for day in range(1, 30) for click in some(link, day, 5)), *some(other, 2, 1)]
    await fill(env.db, made)
    its = click_dimensions.c.day == TODAY - 2, click_dimensions.c.dimension == DIMENSIONS["country"]
    async with env.db.write() as tx:
        await tx.execute(update(click_dimensions).where(*its).values(value="XX"))
    await keep(env)
    assert (await lists(env))["countries"][1]["value"] == "XX"
    await rebuild(env.db)
    assert await kept(env.db) == {}
    assert (await lists(env))["countries"] == [{"value": "DE", "clicks": 146}]
    await keep(env)
    assert (await lists(env))["countries"] == [{"value": "DE", "clicks": 146}]


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("another_begins", [False, True])
async def test_what_is_corrected_meanwhile_is_not_kept(
    env: Env, monkeypatch: pytest.MonkeyPatch, is_there: bool, another_begins: bool
) -> None:
    """`is_there`: leaders of the day before are. `another_begins`: a worker elsewhere, behind the correction."""
    link = await env.link()
    await fill(env.db, [click for day in range(30) for click in some(link, day, 5)])
    ranked = values.ranked
    if is_there:
        await keep(env)
        env.clock.move(DAY)

    async def overtaken(*given: Any) -> Any:
        found = await ranked(*given)
        async with env.db.write() as tx:
            await top_values.forget(tx, env.alice.account_id)
        if another_begins:
            monkeypatch.setattr(values, "ranked", ended)
            with pytest.raises(ZeroDivisionError):
                await keep(env)
            monkeypatch.setattr(values, "ranked", overtaken)
        return found

    async def ended(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(values, "ranked", overtaken)
    await keep(env)
    assert {run.clicks for run in (await kept(env.db)).values()} <= {0}
    monkeypatch.setattr(values, "ranked", ranked)
    assert (await lists(env))["top_links"][0]["clicks"] >= 29 * 5
    await keep(env)
    assert min(run.clicks for run in (await kept(env.db)).values()) >= 28 * 5


async def test_a_correction_under_way_is_waited_for(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    """On PostgreSQL, what it takes away does not yet hold the row that would be made meanwhile."""
    link = await env.link()
    made = [click for day in range(1, 30) for click in some(link, day, 5)]
    await fill(env.db, made)
    await rebuild(env.db)
    its = click_dimensions.c.day == TODAY - 2, click_dimensions.c.dimension == DIMENSIONS["country"]
    async with env.db.write() as tx:
        await tx.execute(update(click_dimensions).where(*its).values(value="XX"))
    has_forgotten, forget = asyncio.Event(), top_values.forget
    keeping: list[asyncio.Task[None]] = []

    async def slow(tx: Any, account_id: UUID | None = None) -> None:
        await forget(tx, account_id)
        if not keeping:
            keeping.append(asyncio.create_task(keep(env)))
            await asyncio.wait(keeping, timeout=0.5)  # it waits for this very transaction
            has_forgotten.set()

    monkeypatch.setattr(top_values, "forget", slow)
    await rebuild(env.db)
    await asyncio.gather(*keeping)
    assert has_forgotten.is_set()
    assert (await lists(env))["countries"] == [{"value": "DE", "clicks": 145}]


async def test_an_edge_of_very_many_values_is_counted(
    env: Env, monkeypatch: pytest.MonkeyPatch, sums: list[int]
) -> None:
    """Whoever visits chooses what he says to come from."""
    monkeypatch.setattr(top_values, "_AT_EDGES", 20)
    link = await env.link()
    before = [click for day in range(2, 30) for click in some(link, day, 5)]
    await fill(env.db, before + [new_click(link, at(1, 5), referrer=f"https://{n}.example/") for n in range(20)])
    await keep(env)
    sums.clear()
    told = await lists(env, from_=timestamp(at(30)), to=timestamp(at(1, 8)))
    assert told["referrers"][0] == {"value": "", "clicks": 140}
    assert len(sums) == 1


async def test_a_closed_account_is_passed_over(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(1, 30) for click in some(link, day, 5)])
    keeper = RunKeeper(env.db, clock=env.clock, monotonic=Ticks())
    assert await keeper.step()
    async with env.db.write() as tx:
        await tx.execute(delete(links.links))
        await tx.execute(delete(accounts).where(accounts.c.id == env.alice.account_id))
    while await keeper.step():
        pass
    assert await kept(env.db) == {}


async def test_what_is_gone_is_not_kept(env: Env) -> None:
    link, other = await env.link(), await env.link()
    await fill(env.db, [click for day in range(1, 30) for each in (link, other) for click in some(each, day, 5)])
    await keep(env)
    assert {subject for subject, _ in await kept(env.db)} == {env.alice.account_id, link.id, other.id}
    async with env.db.write() as tx:
        await link_store.mark_deleted(tx, other, START)
    await keep(env)
    assert {subject for subject, _ in await kept(env.db)} == {env.alice.account_id, link.id}
    async with env.db.write() as tx:
        await tx.execute(delete(links.links))
        await tx.execute(delete(accounts).where(accounts.c.id == env.alice.account_id))
        assert (await tx.execute(select(click_leaders))).all() == []


def test_runs() -> None:
    clicks = dict.fromkeys(range(TODAY - 500, TODAY + 2), 20)
    found = runs(clicks, TODAY)
    assert {period: TODAY - run.first for period, run in found.items()} == {
        "7d": 5,
        "30d": 28,
        "90d": 88,
        "12m": 333,  # from the second day of February 2029
        "all": 499,
    }
    assert {TODAY - run.last for run in found.values()} == {1}
    assert found["7d"].clicks == 100


def test_runs_of_few_days() -> None:
    clicks = {TODAY - 20: 1000, TODAY - 10: 50, TODAY - 4: 5, TODAY - 3: 6, TODAY: 1000}
    assert runs(clicks, TODAY) == {"30d": Run(TODAY - 10, TODAY - 3, 61)}  # the first day may have begun elsewhere
    assert runs({}, TODAY) == {}
