"""GET /v1/links/{id}"""

import pytest
from resources.links.env import Env


async def test_finds_a_link(env: Env) -> None:
    link = await env.make()
    answer = await env.find(link)
    assert (answer.status_code, answer.json()) == (200, {"data": link})


async def test_another_accounts_link_is_like_a_missing_one(env: Env) -> None:
    link = await env.make()
    foreign, missing = await env.find(link, env.bob), await env.find({"id": link["id"][:-4] + "0000"})
    assert foreign.status_code == missing.status_code == 404
    assert foreign.json() == missing.json()


@pytest.mark.parametrize(
    "id", ["1", "the-slug", "%00", "{0190b5a39f3b70008000000000000000}", "0190b5a39f3b70008000000000000000"]
)
async def test_only_a_uuid_finds_a_link(env: Env, id: str) -> None:  # noqa: A002
    await env.make(slug="the-slug")
    answer = await env.find({"id": id})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
