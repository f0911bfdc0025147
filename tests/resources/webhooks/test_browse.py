"""GET /v1/webhooks"""

from datetime import timedelta

import pytest
from people import BASE_URL
from resources.webhooks.env import Env, faults


async def test_lists_webhooks_newest_first(env: Env) -> None:
    made = []
    for _ in range(3):
        made.append(await env.make())
        env.clock.move(timedelta(seconds=1))
    await env.make(env.bob)
    for webhook in made:
        del webhook["secret"]
    path = f"{BASE_URL}/api/v1/webhooks"
    assert (await env.get("?per_page=2")).json() == {
        "data": [made[2], made[1]],
        "links": {
            "first": f"{path}?per_page=2&page=1",
            "last": f"{path}?per_page=2&page=2",
            "prev": None,
            "next": f"{path}?per_page=2&page=2",
        },
        "meta": {"current_page": 1, "from": 1, "last_page": 2, "path": path, "per_page": 2, "to": 2, "total": 3},
    }
    assert (await env.get("?per_page=2&page=2")).json()["data"] == [made[0]]


async def test_of_one_moment_the_later_id_is_newer(env: Env) -> None:
    made = [(await env.make())["id"] for _ in range(3)]
    assert [each["id"] for each in (await env.get()).json()["data"]] == made[::-1]


@pytest.mark.parametrize("name", ["page", "per_page"])
async def test_pages_that_are_none(env: Env, name: str) -> None:
    assert faults(await env.get(f"?{name}=0")).keys() == {name}
