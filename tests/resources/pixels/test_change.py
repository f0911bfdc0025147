"""PATCH /v1/pixels/{id}"""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from resources.links.room import KEYS, Room, faults
from resources.pixels.asking import NEW, ask, make, patch
from sqlalchemy import select

from waypost.redirect import of_pixel
from waypost.resources.pixels import pixels, service


async def secrets(room: Room, pixel: dict[str, Any]) -> list[str | None]:
    """As the platform gets them: its id, and the token."""
    columns = (pixels.c.pixel_id, pixels.c.access_token)
    async with room.deps.db.read() as tx:
        row = (await tx.execute(select(*columns).where(pixels.c.id == UUID(pixel["id"])))).one()
    return [
        sealed and KEYS.open(column, UUID(pixel["id"]), sealed) for column, sealed in zip(columns, row, strict=True)
    ]


async def test_it_works(room: Room) -> None:
    made = await make(room)
    room.clock.move(timedelta(hours=1))
    sent = {"platform": "tiktok", "name": "Autumn", "pixel_id": "C4U0", "access_token": "secret"}
    answer = await patch(room, made, sent)
    assert answer.status_code == 200
    changed = {"platform": "tiktok", "name": "Autumn", "updated_at": "2030-01-01T13:00:00.000000Z"}
    assert answer.json()["data"] == made | changed
    assert (await ask(room, "GET", f"/{made['id']}")).json()["data"] == made | changed
    assert await secrets(room, made) == ["C4U0", "secret"]


async def test_what_is_not_sent_stays(room: Room) -> None:
    made = await make(room, access_token="secret")
    await patch(room, made, {"name": "Autumn"})
    assert await secrets(room, made) == [NEW["pixel_id"], "secret"]
    await patch(room, made, {"pixel_id": "5"})
    assert await secrets(room, made) == ["5", "secret"]
    assert (await ask(room, "GET", f"/{made['id']}")).json()["data"]["name"] == "Autumn"


@pytest.mark.parametrize("cleared", [None, ""])
async def test_null_clears_the_token(room: Room, cleared: str | None) -> None:
    made = await make(room, access_token="secret")
    assert (await patch(room, made, {"access_token": cleared})).status_code == 200
    assert await secrets(room, made) == [NEW["pixel_id"], None]


@pytest.mark.parametrize("fields", [{}, {"colour": "red"}, {"name": NEW["name"], "platform": NEW["platform"]}])
async def test_what_changes_nothing_is_no_change(room: Room, fields: dict[str, Any]) -> None:
    made = await make(room)
    room.clock.move(timedelta(hours=1))
    answer = await patch(room, made, fields)
    assert (answer.status_code, answer.json()["data"]) == (200, made)


@pytest.mark.parametrize("name", ["platform", "name", "pixel_id"])
async def test_what_may_not_be_null(room: Room, name: str) -> None:
    made = await make(room)
    assert faults(await patch(room, made, {name: None})) == {name: [service.NOT_NULL]}


async def test_faults(room: Room) -> None:
    made = await make(room)
    sent = {"platform": "x", "name": "", "pixel_id": "a" * 256, "access_token": "a b"}
    assert faults(await patch(room, made, sent)).keys() == sent.keys()
    assert (await ask(room, "GET", f"/{made['id']}")).json()["data"] == made


async def test_another_platform_does_not_get_the_token(room: Room) -> None:
    made = await make(room, access_token="of-facebook")
    await patch(room, made, {"platform": "facebook"})
    assert (await secrets(room, made))[1] == "of-facebook"
    await patch(room, made, {"platform": "tiktok"})
    assert (await secrets(room, made))[1] is None
    await patch(room, made, {"platform": "pinterest", "access_token": "of-pinterest"})
    assert (await secrets(room, made))[1] == "of-pinterest"


async def test_another_account_s_is_not_there(room: Room) -> None:
    made = await make(room)
    assert (await patch(room, made, {"name": 5}, room.bob)).status_code == 404
    assert (await ask(room, "GET", f"/{made['id']}")).json()["data"] == made


async def test_only_what_is_fired_is_told_to_the_redirects(room: Room) -> None:
    made = await make(room)
    await room.make(slug="with", pixel_ids=[made["id"]])
    await room.make(slug="without")
    room.told.clear()
    await patch(room, made, {"name": "Autumn", "access_token": "secret"})
    assert room.told == []
    await patch(room, made, {"pixel_id": "5"})
    await patch(room, made, {"platform": "pinterest"})
    assert room.told == [of_pixel(UUID(made["id"]))] * 2
