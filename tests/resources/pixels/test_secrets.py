"""R12: platform ids and tokens reach routes and platforms, and nobody else."""

from typing import Any
from uuid import UUID

import pytest
from resources.links.env import KEYS, Env
from resources.pixels.asking import NEW, ask, make, patch, post
from sqlalchemy import select, text
from structlog.testing import capture_logs

from waypost.commands.secret_rotation import encrypted_columns, rotate
from waypost.database import KeyRing, metadata
from waypost.database.secrets import DecryptionFailed
from waypost.resources.pixels.model import pixels
from waypost.resources.pixels.schemas import NewPixel, PixelChange

PIXEL_ID, TOKEN = "1029384756", "EAAB0secret0token"
SECRETS: dict[str, Any] = {"pixel_id": PIXEL_ID, "access_token": TOKEN}


def is_silent(about: object) -> bool:
    return PIXEL_ID not in str(about) and TOKEN not in str(about)


async def rows(env: Env, table: str) -> list[Any]:
    async with env.deps.db.read() as tx:
        return list((await tx.execute(text(f"SELECT * FROM {table}"))).all())


async def test_never_shows_or_logs_secrets(env: Env) -> None:
    """Neither an answer has it, nor the log, nor the database in the clear."""
    with capture_logs() as logs:
        made = await make(env, **SECRETS)
        link = await env.make(pixel_ids=[made["id"]])
        answers = [
            await ask(env, "GET"),
            await ask(env, "GET", f"/{made['id']}"),
            await patch(env, made, SECRETS),
            await patch(env, made, SECRETS | {"name": 5}),
            await post(env, SECRETS | {"platform": TOKEN}),
            await post(env, NEW | {"access_token": f"{TOKEN} {TOKEN}"}),
            await post(env, NEW | {"pixel_id": PIXEL_ID * 99}),
            await env.find(link),
            await env.browse(),
            await ask(env, "DELETE", f"/{made['id']}"),
        ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 422, 422, 422, 422, 200, 200, 204]
    assert all(is_silent(answer.text) for answer in answers)
    assert is_silent(made)
    assert is_silent(logs)


async def test_the_database_has_it_encrypted(env: Env) -> None:
    made = await make(env, **SECRETS)
    [row] = await rows(env, "pixels")
    assert is_silent(row)
    assert not any(secret.encode() in bytes(each) for secret in SECRETS.values() for each in row if type(each) is bytes)
    async with env.deps.db.read() as tx:
        kept = (await tx.execute(select(pixels))).one()
    assert str(kept.pixel_id) != PIXEL_ID
    assert KEYS.decrypt(pixels.c.pixel_id, UUID(made["id"]), kept.pixel_id) == PIXEL_ID
    assert KEYS.decrypt(pixels.c.access_token, UUID(made["id"]), kept.access_token) == TOKEN
    with pytest.raises(DecryptionFailed):
        KEYS.decrypt(pixels.c.access_token, UUID(made["id"]), kept.pixel_id)


@pytest.mark.parametrize("model", [NewPixel, PixelChange])
def test_what_was_sent_does_not_show_it_by_accident(model: type[NewPixel | PixelChange]) -> None:
    sent = model.model_validate(NEW | SECRETS)
    assert sent.pixel_id == PIXEL_ID
    assert is_silent(repr(sent))
    assert is_silent(f"{sent}")


async def test_it_comes_under_another_key(env: Env) -> None:
    made = await make(env, **SECRETS)
    ring = KeyRing(["new key", "a key"])
    done = await rotate(env.deps.db, ring, encrypted_columns(metadata))
    assert (done.changed, done.unreadable) == (2, [])
    async with env.deps.db.read() as tx:
        kept = (await tx.execute(select(pixels))).one()
    only_new = KeyRing(["new key"])
    assert only_new.decrypt(pixels.c.pixel_id, UUID(made["id"]), kept.pixel_id) == PIXEL_ID
    assert only_new.decrypt(pixels.c.access_token, UUID(made["id"]), kept.access_token) == TOKEN
