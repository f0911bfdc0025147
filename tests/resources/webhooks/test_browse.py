"""GET /v1/webhooks"""

from datetime import timedelta

import pytest
from people import BASE_URL
from resources.webhooks.room import Room, faults


async def test_it_works(room: Room) -> None:
    made = []
    for _ in range(3):
        made.append(await room.make())
        room.clock.move(timedelta(seconds=1))
    await room.make(room.bob)
    for webhook in made:
        del webhook["secret"]
    path = f"{BASE_URL}/api/v1/webhooks"
    assert (await room.get("?per_page=2")).json() == {
        "data": [made[2], made[1]],
        "links": {
            "first": f"{path}?per_page=2&page=1",
            "last": f"{path}?per_page=2&page=2",
            "prev": None,
            "next": f"{path}?per_page=2&page=2",
        },
        "meta": {"current_page": 1, "from": 1, "last_page": 2, "path": path, "per_page": 2, "to": 2, "total": 3},
    }
    assert (await room.get("?per_page=2&page=2")).json()["data"] == [made[0]]


async def test_of_one_moment_the_later_id_is_newer(room: Room) -> None:
    made = [(await room.make())["id"] for _ in range(3)]
    assert [each["id"] for each in (await room.get()).json()["data"]] == made[::-1]


@pytest.mark.parametrize("name", ["page", "per_page"])
async def test_pages_that_are_none(room: Room, name: str) -> None:
    assert faults(await room.get(f"?{name}=0")).keys() == {name}
