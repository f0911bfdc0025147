"""DELETE /v1/links/{id}"""

from resources.links.room import Room, faults
from sqlalchemy import select

from waypost.resources.links import links


async def test_it_works(room: Room) -> None:
    link = await room.make(slug="gone", tags=["x"])
    answer = await room.delete(link)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await room.find(link)).status_code == 404
    assert (await room.browse()).json()["data"] == []
    assert (await room.browse("?tag=x")).json()["meta"]["total"] == 0


async def test_the_redirect_plane_is_told(room: Room) -> None:
    link = await room.make(slug="gone")
    room.told.clear()
    await room.delete(link)
    assert room.told == ["gone"]


async def test_only_once(room: Room) -> None:
    link = await room.make()
    await room.delete(link)
    assert (await room.delete(link)).status_code == 404
    assert (await room.browse()).json()["meta"]["total"] == 0


async def test_not_another_accounts(room: Room) -> None:
    link = await room.make()
    assert (await room.delete(link, room.bob)).status_code == 404
    assert (await room.find(link)).status_code == 200


async def test_the_slug_stays_with_its_account(room: Room) -> None:
    await room.delete(await room.make(slug="printed"))
    assert faults(await room.post({"slug": "printed"}, room.bob)).keys() == {"slug"}
    again = await room.make(slug="printed")
    assert again["slug"] == "printed"
    assert faults(await room.post({"slug": "printed"})).keys() == {"slug"}


async def test_waiting_clicks_still_find_the_account(room: Room) -> None:
    await room.delete(await room.make())
    async with room.deps.db.read() as tx:
        row = (await tx.execute(select(links.c.account_id, links.c.deleted_at))).one()
    assert (row.account_id, row.deleted_at) == (room.alice.account_id, room.clock())
