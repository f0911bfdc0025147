"""R31: an account's images together take at most 500 MB, and what goes gives its bytes back."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from resources.links.room import Room, faults
from resources.links.test_images import picture, upload
from sqlalchemy import select, update

from waypost.auth import accounts
from waypost.database import Database
from waypost.resources.links import images, media, rules
from waypost.resources.links.images import CleanImage, clean

LIMIT = rules.MAX_IMAGES_MB << 20


async def used(room: Room, db: Database) -> int:
    async with db.read() as tx:
        its = select(accounts.c.image_bytes).where(accounts.c.id == room.alice.account_id)
        return int(await tx.scalar(its) or 0)


async def set_used(room: Room, db: Database, count: int) -> None:
    async with db.write() as tx:
        await tx.execute(update(accounts).where(accounts.c.id == room.alice.account_id).values(image_bytes=count))


def on_disk(room: Room) -> int:
    return sum((room.deps.media / name).stat().st_size for name in room.hosted())


async def test_bytes_follow_what_becomes_of_images(room: Room, db: Database) -> None:
    link = await upload(room, picture())
    other = await upload(room, picture("JPEG", (300, 200)))
    assert await used(room, db) == on_disk(room) > 0
    await room.send_form("PATCH", f"/{link['id']}", [], file=picture("WEBP", (100, 100)))
    assert await used(room, db) == on_disk(room)
    await room.changed(link, og_image=None)
    assert await used(room, db) == on_disk(room) > 0
    await room.changed(link, title="Its image is gone already")
    await room.delete(other)
    assert (await used(room, db), room.hosted()) == (0, [])


async def test_an_image_that_does_not_fit_is_refused_and_leaves_nothing(room: Room, db: Database) -> None:
    await set_used(room, db, LIMIT - 10)
    answer = await room.send_form("POST", "", [("destination_url", room.site.url())], file=picture())
    assert faults(answer) == {"og_image_file": [rules.NO_ROOM_FOR_IMAGE]}
    link = await room.make()
    answer = await room.send_form("PATCH", f"/{link['id']}", [], file=picture())
    assert faults(answer) == {"og_image_file": [rules.NO_ROOM_FOR_IMAGE]}
    assert (await used(room, db), room.hosted()) == (LIMIT - 10, [])


async def test_one_that_fits_exactly_is_kept(room: Room, db: Database) -> None:
    await set_used(room, db, LIMIT - len(clean(picture()).content))
    await upload(room, picture())
    assert await used(room, db) == LIMIT


async def test_a_full_account_has_nothing_decoded(room: Room, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "clean", lambda _: pytest.fail("it was decoded"))
    await set_used(room, db, LIMIT)
    answer = await room.send_form("POST", "", [("destination_url", room.site.url())], file=picture())
    assert faults(answer) == {"og_image_file": [rules.NO_ROOM_FOR_IMAGE]}
    assert room.site.seen == []


async def test_a_full_account_may_replace_and_remove_images(room: Room, db: Database) -> None:
    link = await upload(room, picture("PNG", (300, 300)))
    await set_used(room, db, LIMIT)
    answer = await room.send_form("PATCH", f"/{link['id']}", [], file=picture("PNG", (20, 10)))
    assert answer.status_code == 200
    assert await used(room, db) < LIMIT
    await room.changed(link, og_image=None)


async def test_uploads_at_once_do_not_pass_the_limit_together(room: Room, db: Database) -> None:
    await set_used(room, db, LIMIT - 2 * len(clean(picture()).content))
    sent = [room.send_form("POST", "", [("destination_url", room.site.url())], file=picture()) for _ in range(5)]
    statuses = sorted(answer.status_code for answer in await asyncio.gather(*sent))
    assert statuses == [201, 201, 422, 422, 422]
    assert await used(room, db) == LIMIT
    assert len(room.hosted()) == 2


async def test_an_upload_that_is_cut_off_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on, write = asyncio.Event(), threading.Event(), media._write
    loop = asyncio.get_running_loop()

    def slow(*given: Any) -> None:
        loop.call_soon_threadsafe(begun.set)
        goes_on.wait()
        write(*given)

    monkeypatch.setattr(media, "_write", slow)
    keeping = asyncio.create_task(media.keep(tmp_path / "media", CleanImage(b"content", "png")))
    await begun.wait()
    keeping.cancel()
    await asyncio.sleep(0)
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await keeping
    assert list((tmp_path / "media").iterdir()) == []
