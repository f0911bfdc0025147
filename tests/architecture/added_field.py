"""Links with a field more. `test_add_a_field` adds `memo` to a copy of the package, and runs this there."""

from pathlib import Path
from typing import Any

from accounts.archived import exported, restored, rows
from architecture.dashboard import EMPTY_FORM, new_team
from architecture.facts import ENDPOINTS, SCOPES
from architecture.running import RunningApp
from people import new_person
from sqlalchemy import select, update

from waypost.audit.model import audit_entries
from waypost.resources.links.model import links

GET, UPDATE = ENDPOINTS["links_get"], ENDPOINTS["links_update"]


async def test_is_created_shown_changed_and_cleared(running: RunningApp) -> None:
    account = await running.account()
    key = await running.key(account, SCOPES)
    made = await running.link(key, memo="first")
    assert made["memo"] == (await running.ask(key, GET, made["id"])).json()["data"]["memo"] == "first"
    assert (await running.ask(key, UPDATE, made["id"], json={"title": "Other"})).json()["data"]["memo"] == "first"
    assert (await running.ask(key, UPDATE, made["id"], json={"memo": None})).json()["data"]["memo"] is None
    assert (await running.link(key))["memo"] is None
    assert (await running.ask(key, UPDATE, made["id"], json={"memo": 5})).json()["error"]["errors"].keys() == {"memo"}
    async with running.db.read() as tx:
        changes = await tx.scalars(select(audit_entries.c.changes).where(audit_entries.c.action == "link.updated"))
        assert {"memo": ["first", None]} in changes.all()


async def test_is_in_the_document(running: RunningApp) -> None:
    schemas = (await running.client.get("/api/openapi.json")).json()["components"]["schemas"]
    for name in ("Link", "LinkCreate", "LinkUpdate"):
        assert schemas[name]["properties"]["memo"]["description"] == "Memo for the members of the account"


async def test_is_in_the_form(running: RunningApp) -> None:
    account = await running.account()
    link = await running.link(await running.key(account, SCOPES), memo="first")
    members = (await new_team(running.db, account)).members
    page = f"/links/{link['id']}/edit"

    async def ask(method: str, role: Any, **rest: Any) -> str:
        headers = EMPTY_FORM | {"Cookie": f"waypost={members[role].cookie}"}
        return (await running.client.request(method, page, headers=headers, follow_redirects=True, **rest)).text

    assert 'value="first"' in await ask("GET", "editor")
    unchanged = {name: link[name] for name in ("destination_url", "slug", "title", "og_description")}
    await ask("POST", "editor", data={**unchanged, "memo": "second"})
    assert 'value="second"' in await ask("GET", "editor")
    assert ">second<" in await ask("GET", "viewer")


async def test_moves_with_an_archive(running: RunningApp, tmp_path: Path) -> None:
    alice, bob = await new_person(running.db, "alice"), await new_person(running.db, "bob")
    await running.link(alice.key, memo="first")
    async with running.db.write() as tx:  # imports refuse what is not public
        await tx.execute(update(links).values(destination_url="https://example.com/"))
    content = await exported(running.db, tmp_path, "alice@example.com")
    await restored(running.db, tmp_path, bob, content)
    for archive in (content, await exported(running.db, tmp_path, "bob@example.com")):
        assert [row["memo"] for row in rows(archive)["links.ndjson"]] == ["first"]
