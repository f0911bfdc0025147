"""DELETE /v1/domains/{id}, and `waypost domain release`"""

from datetime import timedelta
from uuid import UUID

import pytest
from resources.domains.env import NAME, Env
from resources.links.env import faults
from sqlalchemy import insert, select

from waypost.kit.errors import Invalid, NotFound
from waypost.kit.ids import new_id
from waypost.redirect import host_change
from waypost.resources.domains import service
from waypost.resources.domains.logos import store as logos
from waypost.resources.domains.logos.model import Logo
from waypost.resources.domains.model import certificates
from waypost.resources.links.domain_detach import JOB
from waypost.worker.jobs import jobs


async def freed(env: Env) -> list[str]:
    """Domains whose links a worker is to free."""
    async with env.deps.db.read() as tx:
        payloads = await tx.execute(select(jobs.c.payload).where(jobs.c.name == JOB.name))
        return [payload["domain_id"] for payload in payloads.scalars()]


async def test_deletes_a_domain_and_moves_its_links(env: Env) -> None:
    made = await env.make()
    await env.go_live(made)
    link = await env.links.make(slug="spring", hostname=NAME)
    assert (link["hostname"], (await env.find(made)).json()["data"]["links_count"]) == (NAME, 1)
    env.published.clear()
    answer = await env.delete(made)
    assert (answer.status_code, answer.content) == (204, b"")
    assert env.published == [host_change(NAME)], "the host and every link on it"
    assert await freed(env) == [made["id"]]
    moved = (await env.links.find(link)).json()["data"]
    assert moved == link | {"hostname": "go.test", "short_url": moved["short_url"]}
    for answer in (await env.find(made), await env.delete(made), await env.patch(made, {})):
        assert answer.status_code == 404
    assert (await env.ask("GET")).json()["data"] == []


async def test_deletes_a_domain_that_was_never_verified(env: Env) -> None:
    empty, used = await env.make(), await env.make("used.test")
    await env.links.make(hostname="used.test")
    env.published.clear()
    await env.delete(empty)
    await env.delete(used)
    assert env.published == [host_change(NAME), host_change("used.test")]


async def test_deletes_its_certificate(env: Env) -> None:
    made = await env.make()
    row = {"id": new_id(), "hostname": NAME, "chain": "PEM", "failures": 0, "is_own": False}
    row["updated_at"] = env.clock()
    async with env.deps.db.write() as tx:
        await tx.execute(insert(certificates).values(row | {"due_at": env.clock(), "expires_at": env.clock()}))
    await env.delete(made)
    async with env.deps.db.read() as tx:
        left = await tx.execute(select(certificates.c.chain, certificates.c.due_at))
        assert [tuple(each) for each in left if any(each)] == []


async def test_deletes_its_logo(env: Env) -> None:
    made = await env.make()
    logo = Logo(UUID(made["id"]), "a.png", 20, 20, None, env.clock())
    async with env.deps.db.write() as tx:
        await logos.save(tx, env.alice.account_id, logo, b"PNG")
    await env.delete(made)
    async with env.deps.db.read() as tx:
        assert await logos.find(tx, logo.owner_id) is None


async def test_a_domain_of_another_account_is_not_found(env: Env) -> None:
    made = await env.make()
    assert (await env.delete(made, env.bob)).status_code == 404
    assert (await env.find(made)).status_code == 200
    assert await freed(env) == []


async def test_releases_a_hostname(env: Env) -> None:
    made, live = await env.make(), await env.make("live.test")
    await env.go_live(live)
    assert (await service.release(env.deps, "GO.brand.test.", is_forced=False)).id == UUID(made["id"])
    with pytest.raises(Invalid) as refused:
        await service.release(env.deps, "live.test", is_forced=False)
    assert "--force" in refused.value.errors["live.test"][0]
    assert (await env.find(live)).status_code == 200
    await service.release(env.deps, "live.test", is_forced=True)
    assert (await env.ask("GET")).json()["data"] == []
    assert await freed(env) == [made["id"], live["id"]]
    for name in (NAME, "live.test"):
        errors = faults(await env.post({"hostname": name}))["hostname"]
        assert errors == [service.TOO_LONG_UNVERIFIED.format(day="2030-01-31")]
    await env.delete(await env.make(NAME, env.bob), env.bob)
    with pytest.raises(NotFound):
        await service.release(env.deps, NAME, is_forced=False)
    assert await service.delete_registrations(env.deps, NAME)  # now all accounts can register it again
    assert not await service.delete_registrations(env.deps, NAME)
    await env.make(NAME)
    with pytest.raises(Invalid):
        await service.release(env.deps, "https://live.test", is_forced=True)


async def test_registering_again_does_not_restart_the_seven_days(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without proof; of names that were proven nothing is remembered."""
    start, a_day = env.clock(), timedelta(days=1)
    made = await env.make()
    env.clock.move(6 * a_day)
    await env.delete(made)
    env.clock.move(10 * a_day)
    bobs = await env.make(NAME, env.bob)
    assert (await env.row(bobs)).unverified_since == start + 16 * a_day
    await env.delete(bobs, env.bob)
    again = await env.make()
    assert (await env.row(again)).unverified_since == start + 10 * a_day, "six days it had"
    env.clock.move(a_day)
    await env.delete(again)
    errors = {"hostname": [service.TOO_LONG_UNVERIFIED.format(day="2030-02-17")]}
    assert faults(await env.post({"hostname": NAME})) == errors
    env.clock.move(30 * a_day - timedelta(seconds=1))
    assert faults(await env.post({"hostname": NAME})) == errors
    env.clock.move(timedelta(seconds=1))
    again = await env.make()
    assert (await env.row(again)).unverified_since == env.clock()
    await env.delete(again)
    await env.go_live(verified := await env.make())
    await env.delete(verified)
    assert (await env.row(await env.make())).unverified_since == env.clock()

    monkeypatch.setattr(service, "MAX_DOMAINS", 1)
    for name in ("a.test", "b.test"):
        await env.delete(await env.make(name, env.bob), env.bob)
    assert faults(await env.post({"hostname": "c.test"}, env.bob)) == {"hostname": [service.TOO_MANY_DELETED]}
