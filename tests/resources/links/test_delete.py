"""DELETE /v1/links/{id}"""

from resources.links.env import Env, faults
from sqlalchemy import select

from waypost.resources.links.model import links


async def test_deletes_a_link(env: Env) -> None:
    link = await env.make(slug="gone", tags=["x"])
    answer = await env.delete(link)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await env.find(link)).status_code == 404
    assert (await env.browse()).json()["data"] == []
    assert (await env.browse("?tag=x")).json()["meta"]["total"] == 0


async def test_announces_the_slug(env: Env) -> None:
    link = await env.make(slug="gone")
    env.changed_slugs.clear()
    await env.delete(link)
    assert env.changed_slugs == ["gone"]


async def test_deletes_only_once(env: Env) -> None:
    link = await env.make()
    await env.delete(link)
    assert (await env.delete(link)).status_code == 404
    assert (await env.browse()).json()["meta"]["total"] == 0


async def test_another_accounts_link_is_not_found(env: Env) -> None:
    link = await env.make()
    assert (await env.delete(link, env.bob)).status_code == 404
    assert (await env.find(link)).status_code == 200


async def test_the_slug_stays_with_its_account(env: Env) -> None:
    await env.delete(await env.make(slug="printed"))
    assert faults(await env.post({"slug": "printed"}, env.bob)).keys() == {"slug"}
    again = await env.make(slug="printed")
    assert again["slug"] == "printed"
    assert faults(await env.post({"slug": "printed"})).keys() == {"slug"}


async def test_spooled_clicks_still_find_the_account(env: Env) -> None:
    await env.delete(await env.make())
    async with env.deps.db.read() as tx:
        row = (await tx.execute(select(links.c.account_id, links.c.deleted_at))).one()
    assert (row.account_id, row.deleted_at) == (env.alice.account_id, env.clock())
