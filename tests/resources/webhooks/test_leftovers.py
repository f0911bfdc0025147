"""A deletion cancels so much in its own transaction; the worker the rest, a group at a time."""

import pytest
from resources.webhooks.room import Room
from sqlalchemy import func, select

from waypost.resources.webhooks import Leftovers, store
from waypost.resources.webhooks.model import webhook_deliveries


async def counts(room: Room) -> dict[str, int]:
    counted = select(webhook_deliveries.c.status, func.count().label("count")).group_by(webhook_deliveries.c.status)
    async with room.db.read() as tx:
        return {row.status: row.count for row in await tx.execute(counted)}


async def test_the_rest_is_cancelled_in_groups(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CANCELLED_AT_ONCE", 2)
    gone, poller = await room.make(), Leftovers(room.db)
    await room.make(room.bob)
    await room.happen(who=room.bob)
    for _ in range(5):
        await room.happen()
    assert (await room.delete(gone)).status_code == 204
    assert await counts(room) == {"cancelled": 2, "pending": 4}
    assert {str(each.webhook_id) for each in await room.claim()}.isdisjoint({gone["id"]})
    assert await poller.step()
    assert await counts(room) == {"cancelled": 4, "pending": 2}
    assert await poller.step()
    assert not await poller.step()
    assert await counts(room) == {"cancelled": 5, "pending": 1}  # Bob's


async def test_it_looks_seldom(room: Room) -> None:
    now = 100.0
    poller = Leftovers(room.db, monotonic=lambda: now)
    assert not await poller.step()
    await room.happen_to_nobody()
    now = 104.9
    assert not await poller.step()
    now = 105.0
    assert await poller.step()
