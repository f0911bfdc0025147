"""Changes of many links are one entry of the audit log, and links know who created and changed them."""

import re
from datetime import timedelta
from uuid import UUID

import pytest
from browsing import WebApp
from resources.links.env import Env, Website
from resources.links.test_bulk_pages import ALL, run_job, start, undo

from waypost.accounts import create_key
from waypost.audit import store
from waypost.audit.model import AuditEntry
from waypost.audit.store import AuditFilter
from waypost.resources.links import store as link_store
from waypost.resources.links.bulk import change_steps as bulk_change_steps
from waypost.resources.links.bulk import changes as bulk_changes
from waypost.resources.links.bulk.change_store import Selection
from waypost.resources.links.lists.query import LinkFilter
from waypost.resources.links.model import Link


async def entries_of(env: Env, *, without: str = "link.created") -> list[AuditEntry]:
    async with env.deps.db.read() as tx:
        entries, _ = await store.list_before(tx, env.alice.account_id, AuditFilter(), None, limit=100)
    return [entry for entry in entries if entry.action not in (without, "key.created")]


async def get(env: Env, id_: str) -> Link:
    async with env.deps.db.read() as tx:
        return await link_store.get(tx, env.alice.account_id, UUID(id_))


async def test_a_change_in_steps_is_one_entry(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_change_steps, "STEP", 2)
    monkeypatch.setattr(bulk_changes, "MAX_NOW", 0)
    made = [(await env.make(tags=["a"]))["id"] for _ in range(5)]
    change = await start(env, "set", Selection(None, LinkFilter(tag="a")), set={"add_tags": ["b"]})
    assert await entries_of(env) == [], "nothing is changed yet"
    await run_job(env, change)
    [entry] = await entries_of(env)
    assert (entry.action, entry.actor.name, entry.at) == ("links.updated", "alice", change.created_at)
    assert entry.details["count"] == 5
    assert entry.details["ids"] == list(reversed(made))[:2], "those of the first step"
    assert (entry.details["set"], entry.details["filter"]) == ({"add_tags": ["b"]}, {"tag": "a"})
    assert (await get(env, made[0])).changed_by == "alice"


async def test_a_change_that_changes_nothing_leaves_no_entry(env: Env) -> None:
    await env.make(tags=["a"])
    await start(env, "set", ALL, set={"add_tags": ["a"]})
    await start(env, "replace", ALL, find="not there", replacement="x")
    await start(env, "delete", Selection([], LinkFilter()))
    assert await entries_of(env) == []


async def test_find_and_replace_is_one_entry(env: Env) -> None:
    env.site.pages["/other"] = env.site.pages["/page"]
    links = [await env.make() for _ in range(3)]
    await run_job(env, await start(env, "replace", ALL, find="/page", replacement="/other"))
    [entry] = await entries_of(env)
    assert (entry.action, entry.details["count"]) == ("links.updated", 3)
    assert (entry.details["find"], entry.details["replacement"]) == ("/page", "/other")
    changed = await get(env, links[0]["id"])
    assert (changed.destination_url.endswith("/other"), changed.changed_by) == (True, "alice")


async def test_a_deletion_and_its_undo(env: Env) -> None:
    one = await env.make(slug="one")
    deleted = await start(env, "delete", Selection([UUID(one["id"])], LinkFilter()))
    env.clock.move(timedelta(seconds=1))
    await undo(env, deleted)
    restored, deletion = await entries_of(env)
    assert (deletion.action, deletion.item, deletion.details) == ("link.deleted", (UUID(one["id"]), "go.test/one"), {})
    assert (restored.action, restored.item.name) == ("links.restored", "go.test/one")


async def test_a_cancelled_change(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_changes, "MAX_NOW", 0)
    await env.make()
    change = await start(env, "set", ALL, set={"add_tags": ["x"]})
    await bulk_changes.cancel(env.deps, await env.caller(), change.id)
    [entry] = await entries_of(env)
    assert (entry.action, entry.details) == ("links.change_cancelled", {"done": 0, "of": 1})


async def test_the_entry_of_a_change_has_its_fields(env: Env) -> None:
    link = await env.make(title="Old")
    await env.changed(link, title="New", status="inactive", tags=["a"], expires_at="2031-01-01T00:00:00Z")
    [entry] = await entries_of(env)
    assert entry.changes == {
        "title": ["Old", "New"],
        "tags": [[], ["a"]],
        "expires_at": [None, "2031-01-01T00:00:00Z"],
        "is_enabled": [True, False],
    }
    changed = await get(env, link["id"])
    assert (changed.created_by, changed.changed_by) == ("API key tests", "API key tests")


async def test_the_pages_of_a_link_say_who_created_and_changed_it(place: WebApp, site: Website) -> None:
    ada = await place.browser("ada@example.com")
    assert ada.account
    _, key = await create_key(place.db, account_id=ada.account.id, name="<b>CI", scopes=(), now=place.clock())
    headers = {"Authorization": f"Bearer {key}"}
    response = await ada.client.post("/api/v1/links", json={"destination_url": site.url()}, headers=headers)
    link = response.json()["data"]["id"]
    text = (await ada.get(f"/links/{link}")).text
    assert "Created by API key &lt;b&gt;CI on 1 Jan 2030 ·" in re.sub("<[^>]*>", "", text)
    assert f'href="/account/audit?item={link}"' in text
    await ada.post(f"/links/{link}/switch", {"status": "inactive"})
    assert "changed by ada@example.com" in (await ada.get(f"/links/{link}/edit")).text
