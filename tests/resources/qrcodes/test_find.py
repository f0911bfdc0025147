"""GET /v1/links/{id}/qrcode"""

from datetime import timedelta
from uuid import UUID, uuid4

from architecture.facts import QRCODE
from resources.qrcodes.codes_env import DEFAULT, Env
from sqlalchemy import func, select

from waypost.kit.ids import new_id
from waypost.resources.qrcodes.model import code_id, link_id_of, qr_styles


async def test_finds_the_code_of_a_link(env: Env) -> None:
    link = await env.links.make()
    env.clock.move(timedelta(hours=1))
    code = await env.find(link)
    assert list(code) == list(QRCODE)
    assert code["link_id"] == link["id"] != code["id"]
    assert {name: code[name] for name in DEFAULT} == DEFAULT
    assert (code["warnings"], code["scans"]) == ([], 0)
    assert code["created_at"] == code["updated_at"] == link["created_at"]
    assert await env.find(link) == code
    async with env.deps.db.read() as tx:
        assert await tx.scalar(select(func.count()).select_from(qr_styles)) == 0


def test_every_link_has_its_own_code_id() -> None:
    ids = {new_id() for _ in range(1_000)}
    codes = {code_id(each) for each in ids}
    assert (len(codes), codes & ids) == (1_000, set())
    assert {link_id_of(code) for code in codes} == ids
    assert {(code.version, code.variant) for code in codes} == {(7, UUID(int=0x8 << 60).variant)}


async def test_a_missing_link_has_no_code(env: Env) -> None:
    link = await env.links.make()
    others = [
        await env.ask("GET", link, env.bob),
        await env.ask("GET", {"id": uuid4()}),
        await env.ask("GET", {"id": (await env.find(link))["id"]}),
    ]
    await env.links.delete(link)
    assert {each.status_code for each in [*others, await env.ask("GET", link)]} == {404}
