"""Parts of days are read from hours that the worker has counted, and are what counting the clicks gives."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from people import START
from resources.clicks.visited import Env, fill, moment, new_click, open_env
from sqlalchemy import delete, insert, select

from waypost.accounts.model import accounts
from waypost.database import Database
from waypost.kit.clock import DAY, EPOCH, timestamp
from waypost.resources import links
from waypost.resources.clicks.backends.sql import sums
from waypost.resources.clicks.backends.sql.cache_refresher import StatsCacheRefresher
from waypost.resources.clicks.backends.sql.partial_days import leave_out_hours
from waypost.resources.clicks.days import HOUR, DaySlice, SignedSlice
from waypost.resources.clicks.model import Click, clicks, hour_values_cache
from waypost.resources.clicks.stats import hour_values, partial_days, top_values
from waypost.resources.clicks.stats.aggregate import Aggregate
from waypost.resources.links import model as link_model

LISTS = ("countries", "referrers", "devices", "browsers", "platforms", "top_links")
TODAY = (START - EPOCH).days
MIDNIGHT = START.replace(hour=0, minute=0, second=0, microsecond=0)


@pytest.fixture
async def env(db: Database, tmp_path: Path) -> AsyncIterator[Env]:
    async with open_env(db, tmp_path) as opened:
        yield opened


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top_values, "CACHE_THRESHOLD", 60)
    monkeypatch.setattr(hour_values, "_MIN_CLICKS_OF_DAY", 20)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[SignedSlice]:
    """The slices that were counted from clicks."""
    noted_slices: list[SignedSlice] = []
    count_values = partial_days.count_values

    async def noted(tx: Any, subject: Any, slices: Sequence[SignedSlice], limit: int) -> Any:
        noted_slices.extend(slices)
        return await count_values(tx, subject, slices, limit)

    monkeypatch.setattr(partial_days, "count_values", noted)
    return noted_slices


async def drain(db: Database, made: Sequence[Click]) -> None:
    """As the drain does."""
    ids = ("id", "account_id", "link_id")
    rows = [
        click._asdict() | {name: UUID(bytes=getattr(click, name)) for name in ids} | {"created_at": moment(click)}
        for click in made
    ]
    async with db.write() as tx:
        await tx.execute(insert(clicks), [{column.name: row[column.name] for column in clicks.c} for row in rows])
        await sums.save(tx, Aggregate.of(made))


def hourly(link: links.Link, days_ago: int, **fields: Any) -> list[Click]:
    """Two clicks an hour, one of them from the country of the hour."""
    at = MIDNIGHT - timedelta(days=days_ago)
    return [
        new_click(link, at + timedelta(hours=hour, minutes=minute), visitor_id=hour, country=country, **fields)
        for hour in range(24)
        for minute, country in ((10, "DE"), (50, chr(65 + hour) * 2))
    ]


async def refresh(env: Env) -> None:
    refresher = StatsCacheRefresher(env.db, clock=env.clock)
    while await refresher.step():
        pass


async def cached_hours(env: Env) -> set[tuple[int, int]]:
    """(days ago, hour)"""
    async with env.db.read() as tx:
        rows = await tx.execute(select(hour_values_cache.c.day, hour_values_cache.c.hour))
        return {(TODAY - day, hour) for day, hour in rows}


async def clear(env: Env) -> None:
    async with env.db.write() as tx:
        await tx.execute(delete(hour_values_cache))


async def lists(env: Env, link: links.Link | None = None, **query: Any) -> dict[str, Any]:
    found = (await env.shown(f"/links/{link.id}/stats" if link else "/stats", **query))["data"]
    return {name: found[name] for name in LISTS if name in found}


@pytest.mark.parametrize("of_link", [False, True])
@pytest.mark.parametrize("hour", [3, 21])
async def test_hours_are_not_counted_again(env: Env, counted: list[SignedSlice], *, of_link: bool, hour: int) -> None:
    """The rest of a day is counted if it is shorter, and subtracted."""
    link = await env.link()
    await fill(env.db, [click for day in range(1, 9) for click in hourly(link, day, referrer="https://a.example/")])
    await refresh(env)
    range_ = {"from_": timestamp(MIDNIGHT - timedelta(days=6, hours=-hour)), "to": timestamp(START)}
    found = await lists(env, link if of_link else None, **range_)
    assert counted == []
    await clear(env)
    assert await lists(env, link if of_link else None, **range_) == found
    assert len(counted) == 1
    assert found["countries"][0] == {"value": "DE", "clicks": 6 * 24 - hour}


async def test_what_is_not_a_whole_hour_is_counted(env: Env, counted: list[SignedSlice]) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(1, 9) for click in hourly(link, day)])
    await refresh(env)
    range_ = {"from_": timestamp(MIDNIGHT - timedelta(days=6, hours=-20, minutes=-30)), "to": timestamp(START)}
    found = await lists(env, **range_)
    ((_, day_slice, _),) = counted
    assert day_slice.end - day_slice.begin == HOUR // 2
    await clear(env)
    assert await lists(env, **range_) == found


async def test_a_range_without_a_whole_day_is_read_from_hours(env: Env, counted: list[SignedSlice]) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(1, 9) for click in hourly(link, day)])
    await refresh(env)
    midnight = MIDNIGHT - timedelta(days=6)
    range_ = {"from_": timestamp(midnight - timedelta(hours=4)), "to": timestamp(midnight + timedelta(hours=5))}
    found = await lists(env, **range_)
    assert counted == []
    await clear(env)
    assert await lists(env, **range_) == found
    assert found["countries"][0] == {"value": "DE", "clicks": 9}


async def test_a_statement_counts_an_hour_of_a_day_with_very_many_clicks(
    env: Env, counted: list[SignedSlice], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that counted half of the day would be interrupted."""
    link = await env.link()
    await fill(env.db, [click for day in (6, 5, 4) for click in hourly(link, day)])
    midnight = MIDNIGHT - timedelta(days=6)
    begin, end = midnight + timedelta(hours=12, minutes=30), midnight + timedelta(days=2, hours=2, microseconds=1)
    range_ = {"from_": timestamp(begin), "to": timestamp(end)}
    found = await lists(env, **range_)
    assert len(counted) == 2
    counted.clear()
    monkeypatch.setattr(partial_days, "_MAX_CLICKS_OF_DAY", 40)
    assert await lists(env, **range_) == found
    lengths = [day_slice.end - day_slice.begin for _, day_slice, _ in counted]
    assert lengths == [HOUR // 2, *[HOUR] * 11, HOUR, HOUR, 1]
    counted.clear()
    monkeypatch.setattr(partial_days, "_MAX_VALUES", 5)
    assert await lists(env, **range_) == found  # by the database alone
    assert len(counted) == 4


async def test_a_late_click_is_in_its_hour(env: Env, counted: list[SignedSlice]) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(1, 9) for click in hourly(link, day)])
    await refresh(env)
    range_ = {"from_": timestamp(MIDNIGHT - timedelta(days=6, hours=4)), "to": timestamp(START)}
    await drain(env.db, [new_click(link, MIDNIGHT - timedelta(days=6, hours=1, minutes=30), country="ZZ")])
    assert {"value": "ZZ", "clicks": 1} in (await lists(env, **range_))["countries"]
    assert len(counted) == 1
    await refresh(env)
    counted.clear()
    assert {"value": "ZZ", "clicks": 1} in (await lists(env, **range_))["countries"]
    assert counted == []


async def test_hours_that_are_over_are_counted(env: Env) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(9) for click in hourly(link, day)])
    await refresh(env)
    is_begun = {(days_ago, hour) for days_ago, hour in await cached_hours(env) if days_ago == 0}
    assert is_begun == {(0, hour) for hour in range(START.hour)}
    assert {days_ago for days_ago, _ in await cached_hours(env)} == {0, 1, 6, 7}
    env.clock.move(timedelta(hours=24))
    await refresh(env)
    assert {days_ago for days_ago, _ in await cached_hours(env)} == {0, 5, 6}


@pytest.mark.parametrize(("limit", "value"), [("_MAX_VALUES", 10), ("_MAX_LENGTH", 300)])
async def test_days_with_few_clicks_and_hours_with_many_values_are_not_cached(
    env: Env, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(hour_values, limit, value)
    link = await env.link()
    many = [
        new_click(link, MIDNIGHT - timedelta(hours=1), visitor_id=number, referrer=f"https://{number}.example/")
        for number in range(10)
    ]
    few = [new_click(link, MIDNIGHT - timedelta(days=6, hours=1), visitor_id=number) for number in range(19)]
    await fill(env.db, [*few, *many, *hourly(link, 1), *hourly(link, 3)])
    await refresh(env)
    assert await cached_hours(env) == {(1, hour) for hour in range(23)}


async def test_hours_of_deleted_accounts_are_deleted(env: Env) -> None:
    link = await env.link()
    await fill(env.db, [click for day in range(1, 5) for click in hourly(link, day)])
    await refresh(env)
    assert await cached_hours(env)
    async with env.db.write() as tx:
        await tx.execute(delete(link_model.links))
        await tx.execute(delete(accounts).where(accounts.c.id == env.alice.account_id))
    assert not await cached_hours(env)


@given(st.integers(0, 95), st.integers(0, 95), st.sets(st.integers(0, 23)))
def test_slices_and_hours_add_up(first: int, last: int, hours: set[int]) -> None:
    first, last = sorted((first, last))
    day_slice = DaySlice(0, 9, 9 * DAY + first * HOUR // 4, 9 * DAY + (last + 1) * HOUR // 4)
    within = {hour for hour in hours if first <= hour * 4 and hour * 4 + 3 <= last}
    cached = [(9 * DAY + hour * HOUR, 9 * DAY + (hour + 1) * HOUR) for hour in within]
    parts = sorted([*cached, *((rest.begin, rest.end) for rest in leave_out_hours(day_slice, within))])
    assert (parts[0][0], parts[-1][1]) == (day_slice.begin, day_slice.end)
    assert all(before[1] == after[0] for before, after in pairwise(parts))
