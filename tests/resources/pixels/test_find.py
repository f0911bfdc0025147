"""GET /v1/pixels and GET /v1/pixels/{id}"""

from datetime import timedelta

from resources.links.room import Room
from resources.pixels.asking import SHOWN, ask, make


async def test_it_works(room: Room) -> None:
    made = await make(room)
    answer = await ask(room, "GET", f"/{made['id']}")
    assert (answer.status_code, answer.json()) == (200, {"data": made})
    assert list(made) == SHOWN


async def test_another_account_s_is_not_there(room: Room) -> None:
    made = await make(room)
    assert (await ask(room, "GET", f"/{made['id']}", room.bob)).status_code == 404
    assert (await ask(room, "GET", who=room.bob)).json()["data"] == []


async def test_the_newest_comes_first(room: Room) -> None:
    made = []
    for name in ("one", "two", "three"):
        made.insert(0, await make(room, name=name))
        room.clock.move(timedelta(seconds=1))
    first = (await ask(room, "GET", "?per_page=2")).json()
    second = (await ask(room, "GET", "?per_page=2&page=2")).json()
    assert first["data"] + second["data"] == made
    assert (first["meta"]["total"], first["links"]["next"] is None, second["links"]["next"]) == (3, False, None)
