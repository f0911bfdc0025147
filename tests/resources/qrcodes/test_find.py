"""GET /v1/links/{id}/qrcode"""

from datetime import timedelta
from uuid import UUID, uuid4

from house.facts import QRCODE
from resources.qrcodes.asking import DEFAULT, Room
from sqlalchemy import func, select

from waypost.kit.ids import new_id
from waypost.resources.qrcodes.model import code_id, link_id_of, qr_looks


async def test_it_works(room: Room) -> None:
    link = await room.links.make()
    room.clock.move(timedelta(hours=1))
    code = await room.find(link)
    assert list(code) == list(QRCODE)
    assert code["link_id"] == link["id"] != code["id"]
    assert {name: code[name] for name in DEFAULT} == DEFAULT
    assert (code["warnings"], code["scans"]) == ([], 0)
    assert code["created_at"] == code["updated_at"] == link["created_at"]
    assert await room.find(link) == code
    async with room.deps.db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(qr_looks)) == 0


def test_every_link_has_another_code() -> None:
    ids = {new_id() for _ in range(1_000)}
    codes = {code_id(each) for each in ids}
    assert (len(codes), codes & ids) == (1_000, set())
    assert {link_id_of(code) for code in codes} == ids
    assert {(code.version, code.variant) for code in codes} == {(7, UUID(int=0x8 << 60).variant)}


async def test_whose_link_is_not_there(room: Room) -> None:
    link = await room.links.make()
    others = [
        await room.ask("GET", link, room.bob),
        await room.ask("GET", {"id": uuid4()}),
        await room.ask("GET", {"id": (await room.find(link))["id"]}),
    ]
    await room.links.delete(link)
    assert {each.status_code for each in [*others, await room.ask("GET", link)]} == {404}
