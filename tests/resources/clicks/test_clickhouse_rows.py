"""Exports, retention and account deletion give the same on ClickHouse as on PostgreSQL."""

import io
import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from people import START, FakeClock
from resources.clicks.visited import SHARED, Env, fill, new_link, some_clicks, spread

from waypost.kit.clock import EPOCH
from waypost.resources import links
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore
from waypost.resources.clicks.backends.clickhouse import export as clickhouse_export
from waypost.resources.clicks.backends.clickhouse.client import ClickStoreUnavailable
from waypost.resources.clicks.backends.clickhouse.upkeep import ClickHouseRetention, VisitorCounter
from waypost.resources.clicks.backends.sql import SqlClickStore
from waypost.resources.clicks.backends.sql import export as sql_export
from waypost.resources.clicks.days import find_kept_since
from waypost.resources.clicks.export import export
from waypost.resources.clicks.model import Click, Subject
from waypost.resources.clicks.store import ExportQuery

DAY = timedelta(days=1)
pytestmark = pytest.mark.parametrize("urls", ["clickhouse"], indirect=True)
TODAY = (START - EPOCH).days


async def visited(env: Env, days: int, count: int) -> tuple[list[links.Link], list[Click]]:
    """Two links of Alice's and one of Bob's, with clicks on the last days."""
    chance = random.Random(4)
    made = [await env.link(), await env.link(), await env.link(env.bob)]
    clicks = [
        click for link in made for click in some_clicks(link, spread(START - days * DAY, START, count, chance), chance)
    ]
    await env.fill(clicks)
    return made, clicks


async def exported(env: Env, store: SqlClickStore | ClickHouseStore, query: ExportQuery, form: Any) -> str:
    file = io.StringIO(newline="")
    await export(store, env.db, query, file, form, shared_domain=SHARED)
    return file.getvalue()


@pytest.mark.parametrize("page_size", [7, 1_000])
async def test_exports_the_same_clicks(env: Env, page_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clickhouse_export, "_PAGE_SIZE", page_size)
    monkeypatch.setattr(clickhouse_export, "_BATCH_SIZE", 5)
    monkeypatch.setattr(sql_export, "_BATCH_SIZE", 100)
    (first, *_), clicks = await visited(env, 3, 40)
    gone = new_link(env.alice.account_id)
    await env.fill(some_clicks(gone, [START], random.Random(1)))
    await fill(env.db, clicks)
    for query in (
        ExportQuery(),
        ExportQuery(kind=None),
        ExportQuery(Subject(env.alice.account_id)),
        ExportQuery(Subject(env.alice.account_id, first.id), kind="crawler"),
        ExportQuery(kind=None, start=START - 1.5 * DAY, end=START - DAY),
    ):
        for form in ("csv", "ndjson"):
            rows = await exported(env, env.click_store, query, form)  # type: ignore[arg-type]
            assert rows == await exported(env, SqlClickStore(), query, form)
            assert rows.count("\n") > (form == "csv")


async def retained(env: Env, keep: int) -> None:
    """Two steps: a clock is trusted after it has shown the same day for an hour."""
    assert isinstance(env.click_store, ClickHouseStore)
    client = env.click_store.client
    poller = ClickHouseRetention(env.db, client, keep, clock=FakeClock())
    for _ in range(2):
        while await poller.step():
            pass
    while await client.query("SELECT 1 FROM system.mutations WHERE database = currentDatabase() AND NOT is_done"):
        pass


async def days_left(store: ClickHouseStore) -> list[int]:
    return [TODAY - day for (day,) in await store.client.query("SELECT DISTINCT day FROM clicks ORDER BY day DESC")]


async def test_deletes_old_clicks_and_keeps_their_statistics(env: Env, store: ClickHouseStore) -> None:
    (link, *_), _ = await visited(env, 70, 300)
    query = {"from_": (START - 80 * DAY).isoformat(), "interval": "day"}
    before = await env.stats(link, **query)
    assert before["visitors"]
    await retained(env, 10)
    assert await days_left(store) == list(range(11))
    async with env.db.read() as tx:
        assert await find_kept_since(tx) == TODAY - 10
    assert await env.stats(link, **query) == before
    await retained(env, 10)
    assert await env.stats(link, **query) == before


async def test_keeps_all_clicks_while_visitors_cannot_be_counted(
    env: Env, store: ClickHouseStore, clickhouse: Any
) -> None:
    await visited(env, 5, 20)
    clickhouse.faults.error("INSERT INTO visitor_counts", times=None)
    with pytest.raises(ClickStoreUnavailable):
        await retained(env, 1)
    async with env.db.read() as tx:
        assert await find_kept_since(tx) == 0
    assert len(await days_left(store)) > 2


async def rows_of(store: ClickHouseStore, account_id: Any) -> Sequence[int]:
    tables = ("clicks", "click_counts", "click_dimensions", "visitor_counts")
    counts = (f"(SELECT count() FROM {table} WHERE account_id = unhex('{account_id.hex}'))" for table in tables)
    return (await store.client.query(f"SELECT {', '.join(counts)}"))[0]


async def test_deletes_all_rows_of_an_account_alone(env: Env, store: ClickHouseStore) -> None:
    await visited(env, 3, 20)
    counter = VisitorCounter(env.db, store.client, clock=env.clock)
    while await counter.step():
        pass
    others = await rows_of(store, env.bob.account_id)
    assert all(others)
    async for _ in store.delete_account_data(env.db, env.alice.account_id, batch_size=10):
        pass
    assert not any(await rows_of(store, env.alice.account_id))
    assert await rows_of(store, env.bob.account_id) == others
