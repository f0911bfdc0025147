"""DELETE /v1/pixels/{id}"""

from uuid import UUID

import pytest
from resources.clicks.visited import new_link
from resources.links.room import Room
from resources.pixels.asking import ask, make
from sqlalchemy import func, insert, select

from waypost.redirect import of_pixel
from waypost.resources.links import store
from waypost.resources.pixels import link_pixels, service


async def test_it_works(room: Room) -> None:
    gone, stays = await room.pixel(), await room.pixel()
    link = await room.make(slug="a", pixel_ids=[gone, stays])
    room.told.clear()
    answer = await ask(room, "DELETE", f"/{gone}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await ask(room, "GET", f"/{gone}")).status_code == 404
    assert (await room.find(link)).json()["data"] == link | {"pixel_ids": [stays]}
    assert room.told == [of_pixel(UUID(gone))]
    assert (await ask(room, "DELETE", f"/{gone}")).status_code == 404


async def test_another_account_s_is_not_there(room: Room) -> None:
    made = await make(room)
    assert (await ask(room, "DELETE", f"/{made['id']}", room.bob)).status_code == 404
    assert (await ask(room, "GET", f"/{made['id']}")).status_code == 200


async def test_of_very_many_links(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message tells the redirects, and the rows go in several transactions."""
    monkeypatch.setattr(service, "DETACHED_AT_ONCE", 10)
    pixel, other = UUID(await room.pixel()), UUID(await room.pixel())
    made = [new_link(room.alice.account_id, pixel_ids=[pixel, other]) for _ in range(25)]
    async with room.deps.db.write() as tx:
        for link in made:
            await store.add(tx, link)
    await room.delete_pixel(str(pixel))
    assert room.told[-1] == of_pixel(pixel)
    async with room.deps.db.read() as tx:
        counted = select(func.count()).select_from(link_pixels)
        assert await tx.scalar(counted.where(link_pixels.c.pixel_id == pixel)) == 0
        assert await tx.scalar(counted) == 25
    assert (await room.browse()).json()["data"][0]["pixel_ids"] == [str(other)]


async def test_what_a_deletion_left_unfinished_counts_for_nothing(room: Room) -> None:
    """It was killed between its transactions: the pixel is gone, some rows that attach it are not."""
    gone, stays = await room.pixel(), await room.pixel()
    link = await room.make(slug="a", pixel_ids=[stays])
    async with room.deps.db.write() as tx:
        rest = {"link_id": UUID(link["id"]), "position": 1}
        await tx.execute(insert(link_pixels).values(pixel_id=UUID(gone), **rest))
    await room.delete_pixel(gone)
    async with room.deps.db.write() as tx:
        await tx.execute(insert(link_pixels).values(pixel_id=UUID(gone), **rest))
    assert (await room.find(link)).json()["data"] == link
    changed = await room.changed(link, pixel_ids=[])
    assert changed["pixel_ids"] == []
    async with room.deps.db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(link_pixels)) == 0
