"""PATCH /v1/pixels/{id}"""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from resources.links.env import KEYS, Env, faults
from resources.pixels.asking import NEW, ask, make, patch
from sqlalchemy import select

from waypost.redirect import pixel_change
from waypost.resources.pixels.model import pixels


async def secrets(env: Env, pixel: dict[str, Any]) -> list[str | None]:
    """As the platform gets them: its id, and the token."""
    columns = (pixels.c.pixel_id, pixels.c.access_token)
    async with env.deps.db.read() as tx:
        row = (await tx.execute(select(*columns).where(pixels.c.id == UUID(pixel["id"])))).one()
    return [
        ciphertext and KEYS.decrypt(column, UUID(pixel["id"]), ciphertext)
        for column, ciphertext in zip(columns, row, strict=True)
    ]


async def test_changes_a_pixel(env: Env) -> None:
    made = await make(env)
    env.clock.move(timedelta(hours=1))
    sent = {"platform": "tiktok", "name": "Autumn", "pixel_id": "C4U0", "access_token": "secret"}
    answer = await patch(env, made, sent)
    assert answer.status_code == 200
    changed = {"platform": "tiktok", "name": "Autumn", "updated_at": "2030-01-01T13:00:00.000000Z"}
    assert answer.json()["data"] == made | changed
    assert (await ask(env, "GET", f"/{made['id']}")).json()["data"] == made | changed
    assert await secrets(env, made) == ["C4U0", "secret"]


async def test_what_is_not_sent_stays(env: Env) -> None:
    made = await make(env, access_token="secret")
    await patch(env, made, {"name": "Autumn"})
    assert await secrets(env, made) == [NEW["pixel_id"], "secret"]
    await patch(env, made, {"pixel_id": "5"})
    assert await secrets(env, made) == ["5", "secret"]
    assert (await ask(env, "GET", f"/{made['id']}")).json()["data"]["name"] == "Autumn"


@pytest.mark.parametrize("cleared", [None, ""])
async def test_null_clears_the_token(env: Env, cleared: str | None) -> None:
    made = await make(env, access_token="secret")
    assert (await patch(env, made, {"access_token": cleared})).status_code == 200
    assert await secrets(env, made) == [NEW["pixel_id"], None]


@pytest.mark.parametrize("fields", [{}, {"colour": "red"}, {"name": NEW["name"], "platform": NEW["platform"]}])
async def test_what_changes_nothing_is_no_change(env: Env, fields: dict[str, Any]) -> None:
    made = await make(env)
    env.clock.move(timedelta(hours=1))
    answer = await patch(env, made, fields)
    assert (answer.status_code, answer.json()["data"]) == (200, made)


@pytest.mark.parametrize("name", ["platform", "name", "pixel_id"])
async def test_what_may_not_be_null(env: Env, name: str) -> None:
    made = await make(env)
    assert faults(await patch(env, made, {name: None})) == {name: ["This must not be null."]}


async def test_faults(env: Env) -> None:
    made = await make(env)
    sent = {"platform": "x", "name": "", "pixel_id": "a" * 256, "access_token": "a b"}
    assert faults(await patch(env, made, sent)).keys() == sent.keys()
    assert (await ask(env, "GET", f"/{made['id']}")).json()["data"] == made


async def test_another_platform_does_not_get_the_token(env: Env) -> None:
    made = await make(env, access_token="of-facebook")
    await patch(env, made, {"platform": "facebook"})
    assert (await secrets(env, made))[1] == "of-facebook"
    await patch(env, made, {"platform": "tiktok"})
    assert (await secrets(env, made))[1] is None
    await patch(env, made, {"platform": "pinterest", "access_token": "of-pinterest"})
    assert (await secrets(env, made))[1] == "of-pinterest"


async def test_another_account_s_is_not_there(env: Env) -> None:
    made = await make(env)
    assert (await patch(env, made, {"name": 5}, env.bob)).status_code == 404
    assert (await ask(env, "GET", f"/{made['id']}")).json()["data"] == made


async def test_only_what_is_fired_is_told_to_the_redirects(env: Env) -> None:
    made = await make(env)
    await env.make(slug="with", pixel_ids=[made["id"]])
    await env.make(slug="without")
    env.changed_slugs.clear()
    await patch(env, made, {"name": "Autumn", "access_token": "secret"})
    assert env.changed_slugs == []
    await patch(env, made, {"pixel_id": "5"})
    await patch(env, made, {"platform": "pinterest"})
    assert env.changed_slugs == [pixel_change(UUID(made["id"]))] * 2
