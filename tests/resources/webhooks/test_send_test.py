"""POST /v1/webhooks/{id}/test"""

import json

from resources.webhooks.env import Env

from waypost.kit.ids import new_id


async def test_sends_a_test_event(env: Env) -> None:
    made = await env.make(event_types=["pixel.fired"])
    answer = await env.ask("POST", f"/{made['id']}/test")
    assert answer.status_code == 202
    assert [answer.json()["data"]] == await env.deliveries(made)
    assert (answer.json()["data"]["event"], answer.json()["data"]["status"]) == ("webhook.test", "pending")
    [claimed] = await env.claim()
    assert (str(claimed.receiver.webhook_id), claimed.event) == (made["id"], "webhook.test")
    assert json.loads(claimed.body) == {
        "id": answer.json()["data"]["id"],
        "api_version": "v1",
        "event": "webhook.test",
        "created_at": "2030-01-01T12:00:00+00:00",
        "data": {"webhook_id": made["id"]},
    }


async def test_each_is_another_delivery(env: Env) -> None:
    made = await env.make()
    for _ in range(2):
        await env.ask("POST", f"/{made['id']}/test")
    assert len(await env.deliveries(made)) == 2


async def test_no_other_subscription_hears_of_it(env: Env) -> None:
    made, other = await env.make(), await env.make()
    await env.ask("POST", f"/{made['id']}/test")
    assert await env.deliveries(other) == []


async def test_not_another_accounts(env: Env) -> None:
    made = await env.make()
    answers = [await env.ask("POST", f"/{id_}/test", env.bob) for id_ in (made["id"], new_id(), "1")]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert await env.deliveries(made) == []
