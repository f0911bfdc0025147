"""POST /v1/pixels"""

import asyncio
from typing import Any

import pytest
from people import new_key
from resources.links.env import KEYS, Env, faults
from resources.pixels.asking import NEW, SHOWN, ask, make, post
from sqlalchemy import insert

from waypost.kit.ids import new_id
from waypost.resources.pixels import service
from waypost.resources.pixels.model import pixels


async def test_creates_a_pixel(env: Env) -> None:
    answer = await post(env, NEW | {"access_token": "EAAB-token"})
    assert answer.status_code == 201
    made = answer.json()["data"]
    assert list(made) == SHOWN
    assert (made["platform"], made["name"]) == ("facebook", "Spring")
    assert made["created_at"] == made["updated_at"] == "2030-01-01T12:00:00.000000Z"
    assert (await ask(env, "GET", f"/{made['id']}")).json()["data"] == made


@pytest.mark.parametrize("platform", ["facebook", "tiktok", "pinterest", "google_ads"])
async def test_platforms(env: Env, platform: str) -> None:
    assert (await make(env, platform=platform))["platform"] == platform


@pytest.mark.parametrize(
    "fields",
    [
        {"pixel_id": "C4U0I5J6TQ3LJ2BC0000"},
        {"pixel_id": "549755885175/2612345678901"},
        {"pixel_id": "AW-123456789"},
        {"pixel_id": "é 😀 </script>'\"&{{"},
        {"pixel_id": "1" * 255},
        {"name": "😀" * 255},
        {"access_token": None},
        {"access_token": " "},
        {"access_token": "t" * 1000},
        {"colour": "red", "id": "mine"},
    ],
)
async def test_what_is_taken(env: Env, fields: dict[str, Any]) -> None:
    made = await make(env, **fields)
    assert made["name"] == fields.get("name", "Spring")


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, {"platform", "name", "pixel_id"}),
        (dict.fromkeys(NEW), {"platform", "name", "pixel_id"}),
        (NEW | {"platform": "Facebook"}, {"platform"}),
        (NEW | {"platform": ""}, {"platform"}),
        (NEW | {"platform": 5, "name": 5, "pixel_id": 5, "access_token": 5}, {*NEW, "access_token"}),
        (NEW | {"platform": [], "name": {}, "pixel_id": [], "access_token": True}, {*NEW, "access_token"}),
        (NEW | {"name": " "}, {"name"}),
        (NEW | {"name": "a" * 256}, {"name"}),
        (NEW | {"name": "a\0"}, {"name"}),
        (NEW | {"pixel_id": ""}, {"pixel_id"}),
        (NEW | {"pixel_id": "1" * 256}, {"pixel_id"}),
        (NEW | {"pixel_id": "1\n2"}, {"pixel_id"}),
        (NEW | {"pixel_id": "1\u20282"}, {"pixel_id"}),
        (NEW | {"pixel_id": "\ud800"}, {"pixel_id"}),
        (NEW | {"access_token": "t" * 1001}, {"access_token"}),
        (NEW | {"access_token": "a b"}, {"access_token"}),
        (NEW | {"access_token": "ü"}, {"access_token"}),
        (NEW | {"access_token": "a\r\nX: y"}, {"access_token"}),
    ],
)
async def test_faults(env: Env, fields: dict[str, Any], named: set[str]) -> None:
    assert faults(await post(env, fields)).keys() == named
    assert (await ask(env, "GET")).json()["data"] == []


async def test_what_a_platform_may_be_is_told(env: Env) -> None:
    reported = faults(await post(env, NEW | {"platform": "myspace"}))
    assert reported == {"platform": ["This must be one of: facebook, tiktok, pinterest, google_ads."]}


async def test_a_form_is_taken(env: Env) -> None:
    parts = [(name, (None, value)) for name, value in NEW.items()]
    answer = await ask(env, "POST", files=[*parts, ("access_token", (None, ""))])
    assert (answer.status_code, answer.json()["data"]["name"]) == (201, "Spring")


async def fill(env: Env, count: int) -> None:
    values = {"account_id": env.alice.account_id, "platform": "tiktok", "name": "x"}
    values |= {"created_at": env.clock(), "updated_at": env.clock()}
    async with env.deps.db.write() as tx:
        for id_ in [new_id() for _ in range(count)]:
            await tx.execute(
                insert(pixels).values(id=id_, pixel_id=KEYS.encrypt(pixels.c.pixel_id, id_, "x"), **values)
            )


async def test_an_account_may_have_200(env: Env) -> None:
    await fill(env, 199)
    last = await make(env)
    assert faults(await post(env, NEW)) == {"name": [service.TOO_MANY]}
    assert faults(await post(env, NEW | {"platform": "x"})).keys() == {"name", "platform"}
    await make(env, env.bob)
    await ask(env, "DELETE", f"/{last['id']}")
    await make(env)


async def test_no_more_than_200_however_many_are_made_at_once(env: Env) -> None:
    await fill(env, 197)
    people = [await new_key(env.deps.db, env.alice.account_id) for _ in range(8)]
    answers = await asyncio.gather(*(post(env, NEW, who) for who in people))
    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [422] * 5
