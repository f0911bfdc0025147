"""While statistics are compared, a drainer ends its batch and begins none; then it goes on."""

import asyncio
from pathlib import Path

import pytest
from resources.clicks.intake.test_drain import SETTINGS, visit
from resources.clicks.visited import Env

from waypost.redirect import Spool
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore
from waypost.resources.clicks.backends.clickhouse.drain import ClickHouseDrainer
from waypost.resources.clicks.backends.clickhouse.rebuild import check, paused
from waypost.resources.clicks.intake import drain as drain_module

pytestmark = pytest.mark.parametrize("urls", ["clickhouse"], indirect=True)


async def count(store: ClickHouseStore) -> int:
    return int((await store.client.query("SELECT count() FROM clicks"))[0][0])


async def test_drainers_wait(env: Env, store: ClickHouseStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = await env.link()
    lines = [visit(link.id) for _ in range(4)]
    monkeypatch.setitem(drain_module._BATCH_BYTES, "postgresql", len(lines[0]))
    spool = Spool(tmp_path / "spool", limit=1 << 30)
    spool.append(b"".join(lines))
    drainer = ClickHouseDrainer(env.db, store, tmp_path / "spool", SETTINGS)
    assert await drainer.step()
    assert await count(store) == 1  # and the next batch has begun
    begin, end = asyncio.Event(), asyncio.Event()

    async def pause() -> None:
        async with paused(env.db):
            begin.set()
            await end.wait()

    pausing = asyncio.create_task(pause())
    while not begin.is_set():
        await drainer.step()
    stored = await count(store)
    spool.append(b"".join(visit(link.id) for _ in range(4)))
    assert not await drainer.step()
    assert not await drainer.step()
    assert await count(store) == stored
    end.set()
    await pausing
    while await drainer.step():
        pass
    assert await count(store) == 8
    assert [each async for each in check(env.db, store.client)] == []
    await drainer.close()
    spool.close()
