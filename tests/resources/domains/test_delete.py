"""DELETE /v1/domains/{id}, and `waypost domain release`"""

from uuid import UUID

import pytest
from resources.domains.room import NAME, Room
from sqlalchemy import insert, select

from waypost.kit.errors import Invalid, NotFound
from waypost.kit.ids import new_id
from waypost.redirect import of_host
from waypost.resources.domains import service
from waypost.resources.domains.certificates.model import certificates
from waypost.resources.links.freeing import JOB
from waypost.worker.model import jobs


async def freed(room: Room) -> list[str]:
    """Domains whose links a worker is to free."""
    async with room.doors.db.read() as tx:
        payloads = await tx.execute(select(jobs.c.payload).where(jobs.c.name == JOB))
        return [payload["domain_id"] for payload in payloads.scalars()]


async def test_it_works(room: Room) -> None:
    made = await room.make()
    await room.go_live(made)
    link = await room.links.make(slug="spring", hostname=NAME)
    assert (link["hostname"], (await room.find(made)).json()["data"]["links_count"]) == (NAME, 1)
    room.told.clear()
    answer = await room.delete(made)
    assert (answer.status_code, answer.content) == (204, b"")
    assert room.told == [of_host(NAME)], "the host and every link on it"
    assert await freed(room) == [made["id"]]
    moved = (await room.links.find(link)).json()["data"]
    assert moved == link | {"hostname": "go.test", "short_url": moved["short_url"]}
    for answer in (await room.find(made), await room.delete(made), await room.patch(made, {})):
        assert answer.status_code == 404
    assert (await room.ask("GET")).json()["data"] == []


async def test_one_that_was_never_verified(room: Room) -> None:
    empty, used = await room.make(), await room.make("used.test")
    await room.links.make(hostname="used.test")
    room.told.clear()
    await room.delete(empty)
    await room.delete(used)
    assert room.told == [NAME, of_host("used.test")]


async def test_its_certificate_goes_with_it(room: Room) -> None:
    made = await room.make()
    row = {"id": new_id(), "hostname": NAME, "chain": "PEM", "failures": 0, "updated_at": room.clock()}
    async with room.doors.db.write() as tx:
        await tx.execute(insert(certificates).values(row | {"due_at": room.clock(), "expires_at": room.clock()}))
    await room.delete(made)
    async with room.doors.db.read() as tx:
        left = await tx.execute(select(certificates.c.chain, certificates.c.due_at))
        assert [tuple(each) for each in left if any(each)] == []


async def test_another_account_s_is_not_there(room: Room) -> None:
    made = await room.make()
    assert (await room.delete(made, room.bob)).status_code == 404
    assert (await room.find(made)).status_code == 200
    assert await freed(room) == []


async def test_releasing_a_name(room: Room) -> None:
    made, live = await room.make(), await room.make("live.test")
    await room.go_live(live)
    assert (await service.release(room.doors, "GO.brand.test.", is_forced=False)).id == UUID(made["id"])
    with pytest.raises(Invalid) as refused:
        await service.release(room.doors, "live.test", is_forced=False)
    assert "--force" in refused.value.errors["live.test"][0]
    assert (await room.find(live)).status_code == 200
    await service.release(room.doors, "live.test", is_forced=True)
    assert (await room.ask("GET")).json()["data"] == []
    assert await freed(room) == [made["id"], live["id"]]
    with pytest.raises(NotFound):
        await service.release(room.doors, NAME, is_forced=False)
    with pytest.raises(Invalid):
        await service.release(room.doors, "https://live.test", is_forced=True)
