"""R31: an account's images together take at most 500 MB, and what goes gives its bytes back."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from resources.links.env import Env, faults
from resources.links.test_images import image_bytes, upload
from sqlalchemy import select, update

from waypost.accounts.model import accounts
from waypost.database import Database
from waypost.resources.links import rules
from waypost.resources.links.images import encoder as images
from waypost.resources.links.images import files as image_files
from waypost.resources.links.images.codec import reencode
from waypost.resources.links.images.files import ImageFiles
from waypost.resources.links.images.media import ReencodedImage

LIMIT = rules.MAX_IMAGES_MB << 20


async def used(env: Env, db: Database) -> int:
    async with db.read() as tx:
        its = select(accounts.c.image_bytes).where(accounts.c.id == env.alice.account_id)
        return int(await tx.scalar(its) or 0)


async def set_used(env: Env, db: Database, count: int) -> None:
    async with db.write() as tx:
        await tx.execute(update(accounts).where(accounts.c.id == env.alice.account_id).values(image_bytes=count))


async def stored(env: Env) -> int:
    return sum(map(len, (await env.uploaded_images()).values()))


async def test_counts_the_bytes_of_all_images(env: Env, db: Database) -> None:
    link = await upload(env, image_bytes())
    other = await upload(env, image_bytes("JPEG", (300, 200)))
    assert await used(env, db) == await stored(env) > 0
    await env.send_form("PATCH", f"/{link['id']}", [], file=image_bytes("WEBP", (100, 100)))
    assert await used(env, db) == await stored(env)
    await env.changed(link, og_image=None)
    assert await used(env, db) == await stored(env) > 0
    await env.changed(link, title="Its image is gone already")
    await env.delete(other)
    assert (await used(env, db), await env.uploaded_images()) == (0, {})


async def test_refuses_an_image_over_the_quota_without_traces(env: Env, db: Database) -> None:
    await set_used(env, db, LIMIT - 10)
    answer = await env.send_form("POST", "", [("destination_url", env.site.url())], file=image_bytes())
    assert faults(answer) == {"og_image_file": [rules.IMAGE_QUOTA_USED]}
    link = await env.make()
    answer = await env.send_form("PATCH", f"/{link['id']}", [], file=image_bytes())
    assert faults(answer) == {"og_image_file": [rules.IMAGE_QUOTA_USED]}
    assert (await used(env, db), await env.uploaded_images()) == (LIMIT - 10, {})


async def test_accepts_an_image_that_fits_exactly(env: Env, db: Database) -> None:
    await set_used(env, db, LIMIT - len(reencode(image_bytes()).content))
    await upload(env, image_bytes())
    assert await used(env, db) == LIMIT


async def test_decodes_nothing_for_a_full_account(env: Env, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_reencode", lambda _: pytest.fail("it was decoded"))
    await set_used(env, db, LIMIT)
    answer = await env.send_form("POST", "", [("destination_url", env.site.url())], file=image_bytes())
    assert faults(answer) == {"og_image_file": [rules.IMAGE_QUOTA_USED]}
    assert env.site.seen == []


async def test_a_full_account_may_replace_and_remove_images(env: Env, db: Database) -> None:
    link = await upload(env, image_bytes("PNG", (300, 300)))
    await set_used(env, db, LIMIT)
    answer = await env.send_form("PATCH", f"/{link['id']}", [], file=image_bytes("PNG", (20, 10)))
    assert answer.status_code == 200
    assert await used(env, db) < LIMIT
    await env.changed(link, og_image=None)


async def test_concurrent_uploads_do_not_exceed_the_quota(env: Env, db: Database) -> None:
    await set_used(env, db, LIMIT - 2 * len(reencode(image_bytes()).content))
    sent = [env.send_form("POST", "", [("destination_url", env.site.url())], file=image_bytes()) for _ in range(5)]
    statuses = sorted(answer.status_code for answer in await asyncio.gather(*sent))
    assert statuses == [201, 201, 422, 422, 422]
    assert await used(env, db) == LIMIT
    assert len(await env.uploaded_images()) == 2


async def test_a_cancelled_upload_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on, write = asyncio.Event(), threading.Event(), image_files._write
    loop = asyncio.get_running_loop()

    def slow(*given: Any) -> None:
        loop.call_soon_threadsafe(begun.set)
        goes_on.wait()
        write(*given)

    monkeypatch.setattr(image_files, "_write", slow)
    keeping = asyncio.create_task(ImageFiles(tmp_path / "media").save(ReencodedImage(b"content", "png")))
    await begun.wait()
    keeping.cancel()
    await asyncio.sleep(0)
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await keeping
    assert list((tmp_path / "media").iterdir()) == []
