"""DELETE /v1/pixels/{id}"""

from uuid import UUID

import pytest
from resources.clicks.visited import new_link
from resources.links.added import add_links
from resources.links.env import Env
from resources.pixels.asking import ask, make
from sqlalchemy import func, insert, select

from waypost.redirect import pixel_change
from waypost.resources.pixels import service
from waypost.resources.pixels.model import link_pixels


async def test_deletes_a_pixel_and_detaches_it(env: Env) -> None:
    gone, stays = await env.pixel(), await env.pixel()
    link = await env.make(slug="a", pixel_ids=[gone, stays])
    env.changed_slugs.clear()
    answer = await ask(env, "DELETE", f"/{gone}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await ask(env, "GET", f"/{gone}")).status_code == 404
    assert (await env.find(link)).json()["data"] == link | {"pixel_ids": [stays]}
    assert env.changed_slugs == [pixel_change(UUID(gone))]
    assert (await ask(env, "DELETE", f"/{gone}")).status_code == 404


async def test_another_account_s_is_not_there(env: Env) -> None:
    made = await make(env)
    assert (await ask(env, "DELETE", f"/{made['id']}", env.bob)).status_code == 404
    assert (await ask(env, "GET", f"/{made['id']}")).status_code == 200


async def test_of_very_many_links(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message tells the redirects, and the rows go in several transactions."""
    monkeypatch.setattr(service, "_DETACH_BATCH", 10)
    pixel, other = UUID(await env.pixel()), UUID(await env.pixel())
    made = [new_link(env.alice.account_id, pixel_ids=[pixel, other]) for _ in range(25)]
    async with env.deps.db.write() as tx:
        for link in made:
            await add_links(tx, [link])
    await env.delete_pixel(str(pixel))
    assert env.changed_slugs[-1] == pixel_change(pixel)
    async with env.deps.db.read() as tx:
        counted = select(func.count()).select_from(link_pixels)
        assert await tx.scalar(counted.where(link_pixels.c.pixel_id == pixel)) == 0
        assert await tx.scalar(counted) == 25
    assert (await env.browse()).json()["data"][0]["pixel_ids"] == [str(other)]


async def test_what_a_deletion_left_unfinished_counts_for_nothing(env: Env) -> None:
    """It was killed between its transactions: the pixel is gone, some rows that attach it are not."""
    gone, stays = await env.pixel(), await env.pixel()
    link = await env.make(slug="a", pixel_ids=[stays])
    async with env.deps.db.write() as tx:
        rest = {"link_id": UUID(link["id"]), "position": 1}
        await tx.execute(insert(link_pixels).values(pixel_id=UUID(gone), **rest))
    await env.delete_pixel(gone)
    async with env.deps.db.write() as tx:
        await tx.execute(insert(link_pixels).values(pixel_id=UUID(gone), **rest))
    assert (await env.find(link)).json()["data"] == link
    changed = await env.changed(link, pixel_ids=[])
    assert changed["pixel_ids"] == []
    async with env.deps.db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(link_pixels)) == 0
