"""DELETE /v1/domains/{id}, and `waypost domain release`"""

from datetime import timedelta
from uuid import UUID

import pytest
from resources.domains.room import NAME, Room
from resources.links.room import faults
from sqlalchemy import insert, select

from waypost.kit.errors import Invalid, NotFound
from waypost.kit.ids import new_id
from waypost.redirect import of_host
from waypost.resources.domains import service
from waypost.resources.domains.certificates.model import certificates
from waypost.resources.links.domain_detach import JOB
from waypost.worker.model import jobs


async def freed(room: Room) -> list[str]:
    """Domains whose links a worker is to free."""
    async with room.deps.db.read() as tx:
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
    assert room.told == [of_host(NAME), of_host("used.test")]


async def test_its_certificate_goes_with_it(room: Room) -> None:
    made = await room.make()
    row = {"id": new_id(), "hostname": NAME, "chain": "PEM", "failures": 0, "is_own": False}
    row["updated_at"] = room.clock()
    async with room.deps.db.write() as tx:
        await tx.execute(insert(certificates).values(row | {"due_at": room.clock(), "expires_at": room.clock()}))
    await room.delete(made)
    async with room.deps.db.read() as tx:
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
    assert (await service.release(room.deps, "GO.brand.test.", is_forced=False)).id == UUID(made["id"])
    with pytest.raises(Invalid) as refused:
        await service.release(room.deps, "live.test", is_forced=False)
    assert "--force" in refused.value.errors["live.test"][0]
    assert (await room.find(live)).status_code == 200
    await service.release(room.deps, "live.test", is_forced=True)
    assert (await room.ask("GET")).json()["data"] == []
    assert await freed(room) == [made["id"], live["id"]]
    for name in (NAME, "live.test"):
        told = faults(await room.post({"hostname": name}))["hostname"]
        assert told == [service.TOO_LONG_UNPROVEN.format(day="2030-01-31")]
    await room.delete(await room.make(NAME, room.bob), room.bob)
    assert await service.release(room.deps, NAME, is_forced=False) is None  # nobody has it: all may again
    with pytest.raises(NotFound):
        await service.release(room.deps, NAME, is_forced=False)
    await room.make(NAME)
    with pytest.raises(Invalid):
        await service.release(room.deps, "https://live.test", is_forced=True)


async def test_who_registers_again_goes_on_waiting(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without proof; of names that were proven nothing is remembered."""
    start, a_day = room.clock(), timedelta(days=1)
    made = await room.make()
    room.clock.move(6 * a_day)
    await room.delete(made)
    room.clock.move(10 * a_day)
    bobs = await room.make(NAME, room.bob)
    assert (await room.row(bobs)).unverified_since == start + 16 * a_day
    await room.delete(bobs, room.bob)
    again = await room.make()
    assert (await room.row(again)).unverified_since == start + 10 * a_day, "six days it had"
    room.clock.move(a_day)
    await room.delete(again)
    told = {"hostname": [service.TOO_LONG_UNPROVEN.format(day="2030-02-17")]}
    assert faults(await room.post({"hostname": NAME})) == told
    room.clock.move(30 * a_day - timedelta(seconds=1))
    assert faults(await room.post({"hostname": NAME})) == told
    room.clock.move(timedelta(seconds=1))
    anew = await room.make()
    assert (await room.row(anew)).unverified_since == room.clock()
    await room.delete(anew)
    await room.go_live(proven := await room.make())
    await room.delete(proven)
    assert (await room.row(await room.make())).unverified_since == room.clock()

    monkeypatch.setattr(service, "MOST", 1)
    for name in ("a.test", "b.test"):
        await room.delete(await room.make(name, room.bob), room.bob)
    assert faults(await room.post({"hostname": "c.test"}, room.bob)) == {"hostname": [service.TOO_MANY_UNPROVEN]}
