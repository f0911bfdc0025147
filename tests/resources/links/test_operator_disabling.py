"""A link that the operator disabled: its owner cannot enable it, nor use its slug for another one."""

from typing import Any
from uuid import UUID

import pytest
from people import new_person
from resources.imports.importing import Pages, new_deps, run
from resources.imports.importing import link as source_link
from resources.links.env import Env, faults
from resources.links.test_bulk import change as change_many
from resources.links.test_bulk_pages import start, undo
from resources.links.test_route_source import find_route

from waypost.kit.errors import Invalid, NotFound
from waypost.kit.ids import new_id
from waypost.redirect.decision import has_ended
from waypost.resources.links import operator_disabling
from waypost.resources.links.bulk.change_store import Selection
from waypost.resources.links.lists.query import LinkFilter

REASON = "Phishing"
PROBLEM = "Disabled by the operator: Phishing"


async def disable(env: Env, link: dict[str, Any], reason: str = REASON) -> None:
    await operator_disabling.disable(env.deps, UUID(link["id"]), reason)


async def lift(env: Env, link: dict[str, Any]) -> None:
    await operator_disabling.lift(env.deps, UUID(link["id"]))


async def status(env: Env, link: dict[str, Any]) -> str:
    return (await env.find(link)).json()["data"]["status"]


async def test_visitors_see_no_link_until_it_is_lifted(env: Env) -> None:
    link = await env.make(slug="a")
    fields = (await env.find(link)).json()["data"]
    env.changed_slugs.clear()
    await disable(env, link)
    assert env.changed_slugs == ["a"]
    route = await find_route(env, b"a")
    assert route is not None
    assert has_ended(route, 0.0)
    shown = (await env.find(link)).json()["data"]
    assert shown == fields | {"status": "inactive", "updated_at": shown["updated_at"]}, "no field more"
    await lift(env, link)
    assert (await status(env, link), env.changed_slugs) == ("active", ["a", "a"])


async def test_owners_cannot_enable_it(env: Env) -> None:
    link = await env.make()
    await disable(env, link)
    assert faults(await env.patch(link, {"status": "active"})) == {"status": [PROBLEM]}
    assert faults(await env.patch(link, {"status": "active", "title": "New"})) == {"status": [PROBLEM]}
    assert (await env.changed(link, title="Newer", status="inactive"))["title"] == "Newer"
    other = await env.make()
    await env.changed(other, status="inactive")
    answer = await change_many(env, [link["id"], other["id"]], status="active", add_tags=["x"])
    assert [row["status"] for row in answer["data"]] == ["invalid", "updated"]
    assert answer["data"][0]["errors"] == {"status": [PROBLEM]}
    assert (await env.find(link)).json()["data"]["tags"] == []
    change = await start(env, "set", Selection(None, LinkFilter()), set={"status": "active"})
    assert [reason for _, reason in change.refused] == [PROBLEM]
    assert await status(env, link) == "inactive"
    await lift(env, link)
    assert await status(env, link) == "active"


async def test_a_link_that_its_owner_disabled_before_stays_disabled(env: Env) -> None:
    link = await env.make()
    await env.changed(link, status="inactive")
    await disable(env, link)
    await disable(env, link, "Malware")  # again, with another reason
    assert faults(await env.patch(link, {"status": "active"})) == {"status": ["Disabled by the operator: Malware"]}
    await lift(env, link)
    assert await status(env, link) == "inactive"
    assert (await env.changed(link, status="active"))["status"] == "active"


async def test_a_deleted_link_keeps_its_slug(env: Env) -> None:
    link = await env.make(slug="a")
    await disable(env, link)
    await env.delete(link)
    assert [*faults(await env.post({"slug": "a"}))] == ["slug"]
    other = await env.make(slug="b")
    assert [*faults(await env.patch(other, {"slug": "a"}))] == ["slug"]
    with pytest.raises(NotFound):
        await disable(env, link)


async def test_a_changed_slug_is_not_free_either(env: Env) -> None:
    link = await env.make(slug="a")
    await disable(env, link)
    await env.changed(link, slug="b")
    assert [*faults(await env.post({"slug": "a"}))] == ["slug"]
    assert (await env.changed(link, slug="a"))["slug"] == "a", "it can have it again"
    await env.changed(link, slug="b")
    await env.make(slug="c")
    await lift(env, link)
    assert (await env.make(slug="a"))["slug"] == "a"


async def test_a_deletion_that_is_undone_changes_nothing(env: Env) -> None:
    link = await env.make(slug="a")
    await disable(env, link)
    deletion = await start(env, "delete", Selection(None, LinkFilter()))
    assert [*faults(await env.post({"slug": "a"}))] == ["slug"]
    restored = await undo(env, deletion)
    assert (restored.changed, restored.refused) == (1, [])
    assert faults(await env.patch(link, {"status": "active"})) == {"status": [PROBLEM]}


@pytest.mark.parametrize("reason", ["", "x" * 501, "two\nlines"])
async def test_a_reason_is_one_line(env: Env, reason: str) -> None:
    link = await env.make()
    with pytest.raises(Invalid):
        await disable(env, link, reason)
    assert await status(env, link) == "active"


async def test_only_disabled_links_can_be_lifted(env: Env) -> None:
    link = await env.make()
    for id_ in (link["id"], str(new_id())):
        with pytest.raises(NotFound):
            await lift(env, {"id": id_})


async def test_an_import_does_not_enable_it(env: Env) -> None:
    alice = await new_person(env.deps.db, "importer")
    deps = new_deps(env.deps.db)
    await run(deps, alice, Pages([[source_link("a", is_enabled=False)]]))
    [imported] = (await env.browse("", alice)).json()["data"]
    await disable(env, imported)
    await run(deps, alice, Pages([[source_link("a", title="New")]]))
    [changed] = (await env.browse("", alice)).json()["data"]
    assert (changed["title"], changed["status"]) == ("New", "inactive")
    assert faults(await env.patch(changed, {"status": "active"}, alice)) == {"status": [PROBLEM]}
