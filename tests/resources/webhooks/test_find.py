"""GET /v1/webhooks/{id}"""

from resources.webhooks.env import Env

from waypost.kit.ids import new_id


async def test_returns_a_webhook_without_its_secret(env: Env) -> None:
    made = await env.make()
    answer = await env.get(f"/{made['id']}")
    del made["secret"]
    assert (answer.status_code, answer.json()) == (200, {"data": made})
    assert list(answer.json()["data"]) == ["id", "url", "event_types", "created_at", "updated_at"]


async def test_not_another_accounts(env: Env) -> None:
    made = await env.make()
    answers = [await env.get(f"/{id_}", env.bob) for id_ in (made["id"], new_id(), "1")]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1


async def test_it_cannot_be_changed(env: Env) -> None:
    made = await env.make()
    for method in ("PATCH", "PUT"):
        answer = await env.ask(method, f"/{made['id']}", json={"url": "https://other.example/"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET")
