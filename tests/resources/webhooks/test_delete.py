"""DELETE /v1/webhooks/{id}"""

import asyncio
from datetime import timedelta

import pytest
from resources.webhooks.room import Room
from sqlalchemy import func, select, text

from waypost.kit.ids import new_id
from waypost.resources.webhooks import Event, record
from waypost.resources.webhooks.model import webhook_deliveries


async def statuses(room: Room) -> dict[str, int]:
    counted = select(webhook_deliveries.c.status, func.count().label("count")).group_by(webhook_deliveries.c.status)
    async with room.db.read() as tx:
        return {row.status: row.count for row in await tx.execute(counted)}


async def test_it_works(room: Room) -> None:
    made = await room.make()
    answer = await room.delete(made)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await room.get(f"/{made['id']}")).status_code == 404
    assert (await room.get(f"/{made['id']}/deliveries")).status_code == 404
    assert (await room.get()).json()["meta"]["total"] == 0


async def test_only_once_and_not_another_accounts(room: Room) -> None:
    made = await room.make()
    assert (await room.delete(made, room.bob)).status_code == 404
    assert (await room.get(f"/{made['id']}")).status_code == 200
    assert (await room.delete(made)).status_code == 204
    assert (await room.delete(made)).status_code == 404


async def test_what_is_pending_is_cancelled(room: Room) -> None:
    made, other = await room.make(), await room.make(room.bob)
    for status in ("delivered", "failed"):
        await room.happen()
        await room.settle(await room.claim(), status)
    await room.happen()
    await room.settle(await room.claim(), "pending", next_attempt_at=room.clock() + timedelta(seconds=10))
    await room.happen()
    await room.happen(who=room.bob)
    await room.delete(made)
    assert await statuses(room) == {"delivered": 1, "failed": 1, "cancelled": 2, "pending": 1}
    async with room.db.read() as tx:
        cancelled = select(webhook_deliveries).where(webhook_deliveries.c.status == "cancelled")
        rows = (await tx.execute(cancelled)).all()
    assert {(row.next_attempt_at, row.leased_until) for row in rows} == {(None, None)}
    room.clock.move(timedelta(hours=1))
    assert [str(each.webhook_id) for each in await room.claim()] == [other["id"]]


async def test_what_comes_of_an_attempt_under_way_is_not_noted(room: Room) -> None:
    made = await room.make()
    await room.happen()
    claimed = await room.claim()
    await room.delete(made)
    await room.settle(claimed, "pending", next_attempt_at=room.clock())
    assert await statuses(room) == {"cancelled": 1}
    room.clock.move(timedelta(hours=1))
    assert await room.claim() == []


async def test_nothing_is_recorded_for_it_afterwards(room: Room) -> None:
    await room.delete(await room.make())
    await room.happen()
    assert await statuses(room) == {}


async def waiting(room: Room) -> None:
    """Returns when somebody waits for another's lock."""
    while True:
        async with room.db.read() as tx:
            if await tx.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")):
                return
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_what_is_being_recorded_meanwhile_is_cancelled_too(room: Room) -> None:
    made = await room.make()
    event = Event("link.created", room.alice.account_id, new_id(), room.clock(), {})
    async with asyncio.timeout(30):
        async with room.db.write() as tx:
            await record(tx, event)
            deleting = asyncio.create_task(room.delete(made))
            await waiting(room)
            assert not deleting.done()
        assert (await deleting).status_code == 204
    assert await statuses(room) == {"cancelled": 1}
