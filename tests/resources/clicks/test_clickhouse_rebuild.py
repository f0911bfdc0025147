"""Statistics in ClickHouse are compared with the clicks by other queries, and rebuilt."""

import asyncio
import random
from datetime import timedelta

import pytest
from people import START
from resources.clicks.visited import Env, new_click, some_clicks, spread
from sqlalchemy import delete, insert, select

from waypost.kit.clock import EPOCH
from waypost.resources import links
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore
from waypost.resources.clicks.backends.clickhouse import rebuild as rebuilding
from waypost.resources.clicks.backends.clickhouse.rebuild import BatchPending, check, rebuild
from waypost.resources.clicks.backends.clickhouse.upkeep import VisitorCounter
from waypost.resources.clicks.model import spool_positions
from waypost.resources.links.model import link_clicks
from waypost.resources.qrcodes.model import qr_scans

pytestmark = pytest.mark.parametrize("urls", ["clickhouse"], indirect=True)
TODAY = (START - EPOCH).days


@pytest.fixture
async def link(env: Env, store: ClickHouseStore) -> links.Link:
    """With clicks on the last days, whose visitors are counted."""
    chance = random.Random(8)
    made, other = await env.link(), await env.link(env.bob)
    for each in (made, other):
        await env.fill(some_clicks(each, spread(START - timedelta(days=3), START, 60, chance), chance))
    counter = VisitorCounter(env.db, store.client, clock=env.clock)
    while await counter.step():
        pass
    return made


async def differences(env: Env, store: ClickHouseStore) -> list[str]:
    return [each.text.partition(":")[2].strip() async for each in check(env.db, store.client)]


async def test_finds_nothing_to_correct(env: Env, store: ClickHouseStore, link: links.Link) -> None:
    assert await differences(env, store) == []
    done = await rebuild(env.db, store.client, clock=env.clock)
    assert (done.days, done.corrected, done.links) == (4, 0, 0)


_LESS = (
    "DELETE FROM click_counts WHERE day = {day} AND quarter % 2 = 0",
    "DELETE FROM click_dimensions WHERE day = {day} AND dimension = 3",
    """ALTER TABLE visitor_counts UPDATE visitors = visitors + 1 WHERE day = {day} AND quarter = -1
        SETTINGS mutations_sync = 1""",
)
_MORE = (
    """INSERT INTO click_counts (subject_id, day, quarter, account_id, clicks)
        SELECT link_id, day, 7, account_id, 3 FROM clicks WHERE day = {day} LIMIT 1""",
    """INSERT INTO click_counts (subject_id, day, quarter, account_id, first_at)
        SELECT subject_id, day, quarter, account_id, first_at - 1 FROM click_counts
        WHERE day = {day} AND clicks > 0""",
    """INSERT INTO click_dimensions (subject_id, day, dimension, value, account_id, clicks)
        SELECT link_id, day, 1, 'XX', account_id, 1 FROM clicks WHERE day = {day} LIMIT 1""",
)
_CLICKS = ("DELETE FROM clicks WHERE day = {day} AND country = 'DE'",)


@pytest.mark.parametrize("damages", [_LESS, _MORE, _CLICKS], ids=["less", "more", "clicks"])
async def test_rebuilds_damaged_days(
    env: Env,
    store: ClickHouseStore,
    link: links.Link,
    damages: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each damage is on a day of its own, and each day has to be corrected."""
    monkeypatch.setattr(rebuilding, "_CLICKS_PER_QUERY", 40)  # two queries for most days
    query = {"from_": (START - timedelta(days=5)).isoformat(), "interval": "hour"}
    before = await env.stats(link, **query)
    for days, damage in enumerate(damages, start=1):
        await store.client.command(damage.format(day=TODAY - days))
    found = await differences(env, store)
    assert found.count("statistics differ from the clicks") == len(damages)
    done = await rebuild(env.db, store.client, clock=env.clock)
    assert done.corrected == len(damages)
    assert await differences(env, store) == []
    assert (await env.stats(link, **query) == before) is (damages is not _CLICKS)


async def test_finds_clicks_that_are_stored_twice(env: Env, store: ClickHouseStore) -> None:
    click = new_click(await env.link())
    await env.fill([click])
    await env.fill([click])
    assert (await differences(env, store))[0] == "1 clicks are stored twice"


async def test_corrects_counters_of_links(env: Env, store: ClickHouseStore, link: links.Link) -> None:
    async with env.db.read() as tx:
        before = (await tx.execute(select(link_clicks).order_by(link_clicks.c.link_id))).all()
        scans = (await tx.execute(select(qr_scans).order_by(qr_scans.c.link_id))).all()
    async with env.db.write() as tx:
        await tx.execute(link_clicks.update().where(link_clicks.c.link_id == link.id).values(clicks=1))
        await tx.execute(delete(qr_scans))
    assert await differences(env, store) == ["their counters differ from the statistics"]
    assert (await rebuild(env.db, store.client, clock=env.clock)).links == 2
    async with env.db.read() as tx:
        assert (await tx.execute(select(link_clicks).order_by(link_clicks.c.link_id))).all() == before
        assert (await tx.execute(select(qr_scans).order_by(qr_scans.c.link_id))).all() == scans


async def test_waits_for_pending_batches(
    env: Env,
    store: ClickHouseStore,
    link: links.Link,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with env.db.write() as tx:
        await tx.execute(insert(spool_positions).values(segment="a-1", position=0, pending_end=9))
    await store.client.command(f"DELETE FROM click_counts WHERE day = {TODAY - 1}")
    monkeypatch.setattr(rebuilding, "_MAX_POLLS", 1)
    with pytest.raises(BatchPending, match="segment a-1"):
        await rebuild(env.db, store.client, clock=env.clock)
    monkeypatch.setattr(rebuilding, "_MAX_POLLS", 300)
    running = asyncio.create_task(rebuild(env.db, store.client, clock=env.clock))
    async with env.db.write() as tx:
        await tx.execute(spool_positions.update().values(pending_end=None))
    assert (await running).corrected == 1
