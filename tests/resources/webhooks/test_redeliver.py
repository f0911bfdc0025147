"""POST /v1/webhooks/{id}/deliveries/{delivery_id}/redeliver"""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from resources.webhooks.room import LEASE, Room, path_of


async def only(room: Room, made: dict[str, Any]) -> dict[str, Any]:
    [delivery] = await room.deliveries(made)
    return delivery


async def again(room: Room, made: dict[str, Any]) -> dict[str, Any]:
    answer = await room.ask("POST", path_of(made, await only(room, made)))
    assert answer.status_code == 202, answer.text
    assert answer.json()["data"] == await only(room, made)
    return answer.json()["data"]


@pytest.mark.parametrize("status", ["delivered", "failed"])
async def test_it_works(room: Room, status: str) -> None:
    made = await room.make()
    await room.happen()
    first = await room.claim()
    await room.settle(first, status, response_status=410, error="answered 410")
    room.clock.move(timedelta(days=1))
    before = await only(room, made)
    anew = {"status": "pending", "attempts": 0, "next_attempt_at": "2030-01-02T12:00:00.000000Z"}
    assert await again(room, made) == before | anew | {"response_status": None, "error": None}
    second = await room.claim()
    assert [(each.id, each.body, each.attempt) for each in second] == [(first[0].id, first[0].body, 1)]
    await room.settle(second, "delivered", response_status=200)
    assert (await only(room, made))["status"] == "delivered"


async def test_one_that_waits_is_due_at_once(room: Room) -> None:
    made = await room.make()
    await room.happen()
    later = room.clock() + timedelta(minutes=5)
    await room.settle(await room.claim(), "pending", next_attempt_at=later, response_status=500, error="answered 500")
    before = await only(room, made)
    assert await again(room, made) == before | {"next_attempt_at": "2030-01-01T12:00:00.000000Z"}
    assert [each.attempt for each in await room.claim()] == [2]


async def test_one_that_is_due_keeps_its_place(room: Room) -> None:
    made = await room.make()
    await room.happen()
    before = await only(room, made)
    room.clock.move(timedelta(minutes=5))
    assert await again(room, made) == before


async def test_one_under_way_is_left_as_it_is(room: Room) -> None:
    made = await room.make()
    await room.happen()
    claimed = await room.claim()
    before = await only(room, made)
    assert await again(room, made) == before
    assert await room.claim() == []
    await room.settle(claimed, "delivered", response_status=200)
    assert (await only(room, made))["status"] == "delivered"


async def test_one_whose_attempt_was_never_settled_is_taken_after_its_lease(room: Room) -> None:
    made = await room.make()
    await room.happen()
    await room.claim()
    room.clock.move(LEASE)
    await again(room, made)
    assert [each.attempt for each in await room.claim()] == [2]


async def test_not_another_accounts(room: Room) -> None:
    made, bobs = await room.make(), await room.make(room.bob)
    await room.happen()
    await room.settle(await room.claim(), "failed", error="timed out")
    delivery = await only(room, made)
    missing = [path_of(made, delivery), path_of(bobs, delivery), path_of(bobs, uuid4())]
    answers = [await room.ask("POST", path, room.bob) for path in [*missing, f"/{bobs['id']}/deliveries/1/redeliver"]]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert await only(room, made) == delivery


async def test_not_by_way_of_another_subscription(room: Room) -> None:
    made, other = await room.make(), await room.make(event_types=["pixel.fired"])
    await room.happen()
    await room.settle(await room.claim(), "failed", error="timed out")
    assert (await room.ask("POST", path_of(other, await only(room, made)))).status_code == 404
    assert (await only(room, made))["status"] == "failed"


async def test_not_after_the_subscription_is_deleted(room: Room) -> None:
    made = await room.make()
    await room.happen()
    path = path_of(made, await only(room, made))
    await room.delete(made)
    assert (await room.ask("POST", path)).status_code == 404
    assert await room.claim() == []


async def test_who_was_late_with_the_first_attempt_does_not_settle_the_new_first(room: Room) -> None:
    made = await room.make()
    await room.happen()
    (late,) = await room.claim()
    room.clock.move(LEASE)
    (current,) = await room.claim()
    await room.settle([current], "failed", error="refused", counts=False)
    (delivery,) = await room.deliveries(made)
    await room.ask("POST", path_of(made, delivery))
    (anew,) = await room.claim()
    await room.settle([late], "delivered", response_status=200)
    assert [each["status"] for each in await room.deliveries(made)] == ["pending"]
    await room.settle([anew], "delivered", response_status=204)
    assert [each["response_status"] for each in await room.deliveries(made)] == [204]
