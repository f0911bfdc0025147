"""A resource more. `test_add_a_resource` adds `notes` to a copy of the package, and runs this there."""

import importlib
from pathlib import Path
from uuid import UUID

import httpx
from accounts.archived import export_context, exported, rows
from architecture.dashboard import EMPTY_FORM, new_team
from architecture.running import RunningApp
from sqlalchemy import select

from waypost.accounts.data.deletion import AccountDeletion
from waypost.audit.model import audit_entries
from waypost.packages import RESOURCES

PATH = "/api/v1/notes"
EMAIL = "person0@example.com"


async def made(running: RunningApp) -> UUID:
    account = await running.account()
    headers = {"Authorization": f"Bearer {await running.key(account, ['notes:manage'])}"}
    answer = await running.client.post(PATH, headers=headers, json={"text": "Ask Ada"})
    assert (answer.status_code, answer.json()["data"]["text"]) == (201, "Ask Ada")
    listed = (await running.client.get(PATH, headers=headers)).json()["data"]
    assert [note["text"] for note in listed] == ["Ask Ada"]
    return account


async def test_is_created_listed_and_audited(running: RunningApp) -> None:
    account = await made(running)
    other = {"Authorization": f"Bearer {await running.key(account, ['links:write'])}"}
    assert (await running.client.post(PATH, headers=other, json={"text": "B"})).status_code == 403
    async with running.db.read() as tx:
        assert "note.created" in (await tx.scalars(select(audit_entries.c.action))).all()


async def test_is_in_the_document(running: RunningApp) -> None:
    document = (await running.client.get("/api/openapi.json")).json()
    assert document["paths"][PATH].keys() == {"get", "post"}
    assert "notes" in {tag["name"] for tag in document["tags"]}


async def test_has_a_page_in_the_menu(running: RunningApp) -> None:
    members = (await new_team(running.db, await made(running))).members

    async def ask(method: str, path: str, role: str, text: str = "") -> httpx.Response:
        headers = EMPTY_FORM | {"Cookie": f"waypost={members[role].cookie}"}
        data = {"text": text} if text else None
        return await running.client.request(method, path, headers=headers, data=data)

    assert 'href="/notes"' in (await ask("GET", "/links", "viewer")).text
    assert "Ask Ada" in (await ask("GET", "/notes", "viewer")).text
    sent = await ask("POST", "/notes", "editor", "Ask Bob")
    assert "Note added." in (await ask("GET", sent.headers["location"], "editor")).text
    assert (await ask("POST", "/notes", "viewer", "Ask Eve")).status_code == 403


async def test_is_exported_and_deleted_with_the_account(running: RunningApp, tmp_path: Path) -> None:
    account = await made(running)
    archive = rows(await exported(running.db, tmp_path, EMAIL))
    assert [row["text"] for row in archive["notes.ndjson"]] == ["Ask Ada"]
    await AccountDeletion(export_context(running.db, tmp_path), RESOURCES).delete_now(account)
    notes = importlib.import_module("waypost.resources.notes.model").notes
    async with running.db.read() as tx:
        assert not (await tx.execute(select(notes))).all()
