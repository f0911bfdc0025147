"""GET /v1/pixels and GET /v1/pixels/{id}"""

from datetime import timedelta

from resources.links.env import Env
from resources.pixels.asking import SHOWN, ask, make


async def test_returns_a_pixel(env: Env) -> None:
    made = await make(env)
    answer = await ask(env, "GET", f"/{made['id']}")
    assert (answer.status_code, answer.json()) == (200, {"data": made})
    assert list(made) == SHOWN


async def test_another_account_s_is_not_there(env: Env) -> None:
    made = await make(env)
    assert (await ask(env, "GET", f"/{made['id']}", env.bob)).status_code == 404
    assert (await ask(env, "GET", who=env.bob)).json()["data"] == []


async def test_the_newest_comes_first(env: Env) -> None:
    made = []
    for name in ("one", "two", "three"):
        made.insert(0, await make(env, name=name))
        env.clock.move(timedelta(seconds=1))
    first = (await ask(env, "GET", "?per_page=2")).json()
    second = (await ask(env, "GET", "?per_page=2&page=2")).json()
    assert first["data"] + second["data"] == made
    assert (first["meta"]["total"], first["links"]["next"] is None, second["links"]["next"]) == (3, False, None)
