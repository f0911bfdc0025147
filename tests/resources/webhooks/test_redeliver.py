"""POST /v1/webhooks/{id}/deliveries/{delivery_id}/redeliver"""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from resources.webhooks.env import LEASE, Env, path_of


async def only(env: Env, made: dict[str, Any]) -> dict[str, Any]:
    [delivery] = await env.deliveries(made)
    return delivery


async def again(env: Env, made: dict[str, Any]) -> dict[str, Any]:
    answer = await env.ask("POST", path_of(made, await only(env, made)))
    assert answer.status_code == 202, answer.text
    assert answer.json()["data"] == await only(env, made)
    return answer.json()["data"]


@pytest.mark.parametrize("status", ["delivered", "failed"])
async def test_sends_a_finished_delivery_again(env: Env, status: str) -> None:
    made = await env.make()
    await env.happen()
    first = await env.claim()
    await env.settle(first, status, response_status=410, error="answered 410")
    env.clock.move(timedelta(days=1))
    before = await only(env, made)
    pending = {"status": "pending", "attempts": 0, "next_attempt_at": "2030-01-02T12:00:00.000000Z"}
    assert await again(env, made) == before | pending | {"response_status": None, "error": None}
    second = await env.claim()
    assert [(each.id, each.body, each.attempt) for each in second] == [(first[0].id, first[0].body, 1)]
    await env.settle(second, "delivered", response_status=200)
    assert (await only(env, made))["status"] == "delivered"


async def test_one_that_waits_is_due_at_once(env: Env) -> None:
    made = await env.make()
    await env.happen()
    later = env.clock() + timedelta(minutes=5)
    await env.settle(await env.claim(), "pending", next_attempt_at=later, response_status=500, error="answered 500")
    before = await only(env, made)
    assert await again(env, made) == before | {"next_attempt_at": "2030-01-01T12:00:00.000000Z"}
    assert [each.attempt for each in await env.claim()] == [2]


async def test_one_that_is_due_keeps_its_place(env: Env) -> None:
    made = await env.make()
    await env.happen()
    before = await only(env, made)
    env.clock.move(timedelta(minutes=5))
    assert await again(env, made) == before


async def test_one_under_way_is_left_as_it_is(env: Env) -> None:
    made = await env.make()
    await env.happen()
    claimed = await env.claim()
    before = await only(env, made)
    assert await again(env, made) == before
    assert await env.claim() == []
    await env.settle(claimed, "delivered", response_status=200)
    assert (await only(env, made))["status"] == "delivered"


async def test_one_whose_attempt_was_never_settled_is_taken_after_its_lease(env: Env) -> None:
    made = await env.make()
    await env.happen()
    await env.claim()
    env.clock.move(LEASE)
    await again(env, made)
    assert [each.attempt for each in await env.claim()] == [2]


async def test_not_another_accounts(env: Env) -> None:
    made, bobs = await env.make(), await env.make(env.bob)
    await env.happen()
    await env.settle(await env.claim(), "failed", error="timed out")
    delivery = await only(env, made)
    missing = [path_of(made, delivery), path_of(bobs, delivery), path_of(bobs, uuid4())]
    answers = [await env.ask("POST", path, env.bob) for path in [*missing, f"/{bobs['id']}/deliveries/1/redeliver"]]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert await only(env, made) == delivery


async def test_not_by_way_of_another_subscription(env: Env) -> None:
    made, other = await env.make(), await env.make(event_types=["pixel.fired"])
    await env.happen()
    await env.settle(await env.claim(), "failed", error="timed out")
    assert (await env.ask("POST", path_of(other, await only(env, made)))).status_code == 404
    assert (await only(env, made))["status"] == "failed"


async def test_not_after_the_subscription_is_deleted(env: Env) -> None:
    made = await env.make()
    await env.happen()
    path = path_of(made, await only(env, made))
    await env.delete(made)
    assert (await env.ask("POST", path)).status_code == 404
    assert await env.claim() == []


async def test_who_was_late_with_the_first_attempt_does_not_settle_the_new_first(env: Env) -> None:
    made = await env.make()
    await env.happen()
    (late,) = await env.claim()
    env.clock.move(LEASE)
    (current,) = await env.claim()
    await env.settle([current], "failed", error="refused", counts_as_attempt=False)
    (delivery,) = await env.deliveries(made)
    await env.ask("POST", path_of(made, delivery))
    (claimed,) = await env.claim()
    await env.settle([late], "delivered", response_status=200)
    assert [each["status"] for each in await env.deliveries(made)] == ["pending"]
    await env.settle([claimed], "delivered", response_status=204)
    assert [each["response_status"] for each in await env.deliveries(made)] == [204]
