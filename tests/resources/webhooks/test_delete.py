"""DELETE /v1/webhooks/{id}"""

import asyncio
from datetime import timedelta

import pytest
from resources.webhooks.env import Env
from sqlalchemy import func, select, text

from waypost.kit.ids import new_id
from waypost.resources.webhooks import WebhookEvent, record
from waypost.resources.webhooks.model import webhook_deliveries


async def statuses(env: Env) -> dict[str, int]:
    counted = select(webhook_deliveries.c.status, func.count().label("count")).group_by(webhook_deliveries.c.status)
    async with env.db.read() as tx:
        return {row.status: row.count for row in await tx.execute(counted)}


async def test_deletes_a_webhook_and_cancels_deliveries(env: Env) -> None:
    made = await env.make()
    answer = await env.delete(made)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await env.get(f"/{made['id']}")).status_code == 404
    assert (await env.get(f"/{made['id']}/deliveries")).status_code == 404
    assert (await env.get()).json()["meta"]["total"] == 0


async def test_only_once_and_not_another_accounts(env: Env) -> None:
    made = await env.make()
    assert (await env.delete(made, env.bob)).status_code == 404
    assert (await env.get(f"/{made['id']}")).status_code == 200
    assert (await env.delete(made)).status_code == 204
    assert (await env.delete(made)).status_code == 404


async def test_what_is_pending_is_cancelled(env: Env) -> None:
    made, other = await env.make(), await env.make(env.bob)
    for status in ("delivered", "failed"):
        await env.happen()
        await env.settle(await env.claim(), status)
    await env.happen()
    await env.settle(await env.claim(), "pending", next_attempt_at=env.clock() + timedelta(seconds=10))
    await env.happen()
    await env.happen(who=env.bob)
    await env.delete(made)
    assert await statuses(env) == {"delivered": 1, "failed": 1, "cancelled": 2, "pending": 1}
    async with env.db.read() as tx:
        cancelled = select(webhook_deliveries).where(webhook_deliveries.c.status == "cancelled")
        rows = (await tx.execute(cancelled)).all()
    assert {(row.next_attempt_at, row.leased_until) for row in rows} == {(None, None)}
    env.clock.move(timedelta(hours=1))
    assert [str(each.receiver.webhook_id) for each in await env.claim()] == [other["id"]]


async def test_what_comes_of_an_attempt_under_way_is_not_noted(env: Env) -> None:
    made = await env.make()
    await env.happen()
    claimed = await env.claim()
    await env.delete(made)
    await env.settle(claimed, "pending", next_attempt_at=env.clock())
    assert await statuses(env) == {"cancelled": 1}
    env.clock.move(timedelta(hours=1))
    assert await env.claim() == []


async def test_nothing_is_recorded_for_it_afterwards(env: Env) -> None:
    await env.delete(await env.make())
    await env.happen()
    assert await statuses(env) == {}


async def waiting(env: Env) -> None:
    """Returns when somebody waits for another's lock."""
    while True:
        async with env.db.read() as tx:
            if await tx.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")):
                return
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_what_is_being_recorded_meanwhile_is_cancelled_too(env: Env) -> None:
    made = await env.make()
    event = WebhookEvent("link.created", env.alice.account_id, new_id(), env.clock(), {})
    async with asyncio.timeout(30):
        async with env.db.write() as tx:
            await record(tx, event)
            deleting = asyncio.create_task(env.delete(made))
            await waiting(env)
            assert not deleting.done()
        assert (await deleting).status_code == 204
    assert await statuses(env) == {"cancelled": 1}
