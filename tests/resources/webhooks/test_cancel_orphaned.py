"""A deletion cancels so much in its own transaction; the worker the rest, a group at a time."""

import pytest
from resources.webhooks.env import Env
from sqlalchemy import func, select

from waypost.resources.webhooks import store
from waypost.resources.webhooks.model import webhook_deliveries
from waypost.resources.webhooks.retention import cancel_orphaned_deliveries


async def counts(env: Env) -> dict[str, int]:
    counted = select(webhook_deliveries.c.status, func.count().label("count")).group_by(webhook_deliveries.c.status)
    async with env.db.read() as tx:
        return {row.status: row.count for row in await tx.execute(counted)}


async def test_the_rest_is_cancelled_in_groups(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CANCEL_BATCH_SIZE", 2)
    gone = await env.make()
    await env.make(env.bob)
    await env.happen(who=env.bob)
    for _ in range(5):
        await env.happen()
    assert (await env.delete(gone)).status_code == 204
    assert await counts(env) == {"cancelled": 2, "pending": 4}
    assert {str(each.receiver.webhook_id) for each in await env.claim()}.isdisjoint({gone["id"]})
    assert await cancel_orphaned_deliveries(env.db)
    assert await counts(env) == {"cancelled": 4, "pending": 2}
    assert await cancel_orphaned_deliveries(env.db)
    assert not await cancel_orphaned_deliveries(env.db)
    assert await counts(env) == {"cancelled": 5, "pending": 1}  # Bob's
