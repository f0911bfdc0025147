"""Campaign templates: /v1/utm-templates, its pages, and the form of a link that they fill."""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from browsing import WebApp, open_place
from contexts import new_context
from people import FakeClock, Person, new_client, new_person
from resources.links.env import faults
from sqlalchemy import insert, select

from waypost.accounts.data.deletion import delete_rows
from waypost.audit.model import audit_entries
from waypost.context import Context
from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.utm_templates import api, service
from waypost.resources.utm_templates.model import utm_templates

NEW = {"name": "Newsletter", "utm_params": {"utm_source": "news letter", "utm_medium": "email"}}
PAGES = "/links/utm-templates"


@dataclass
class Env:
    client: httpx.AsyncClient
    context: Context
    alice: Person
    bob: Person


@pytest.fixture
async def env(db: Database, tmp_path: Path) -> AsyncIterator[Env]:
    context = new_context(db, FakeClock())
    alice, bob = await new_person(db, "Alice"), await new_person(db, "Bob")
    async with new_client(db, tmp_path, (context, api.ENDPOINTS), clock=context.clock) as client:
        yield Env(client, context, alice, bob)


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as opened:
        yield opened


async def ask(env: Env, method: str, path: str = "", who: Person | None = None, **rest: Any) -> httpx.Response:
    headers = (who or env.alice).headers
    return await env.client.request(method, f"/api/v1/utm-templates{path}", headers=headers, **rest)


async def test_creates_changes_lists_and_deletes(env: Env) -> None:
    created = await ask(
        env, "POST", json=NEW | {"utm_params": NEW["utm_params"] | {"utm_term": None, "utm_content": ""}}
    )
    assert created.status_code == 201, created.text
    template = created.json()["data"]
    assert list(template) == ["id", "name", "utm_params", "created_at", "updated_at"]
    assert template["utm_params"] == {"utm_source": "news letter", "utm_medium": "email"}
    path = f"/{template['id']}"
    assert (await ask(env, "GET", path)).json()["data"] == template
    await ask(env, "POST", json=NEW | {"name": "Ads"})
    listed = (await ask(env, "GET", "?per_page=1")).json()
    assert ([each["name"] for each in listed["data"]], listed["meta"]["total"]) == (["Ads"], 2)
    sent = {"utm_params": {"utm_source": "a", "utm_term": "b"}}  # the database sorts them by their lengths
    written = await ask(env, "PATCH", path, json=sent)
    assert written.headers["ETag"] == (await ask(env, "GET", path)).headers["ETag"]
    changed = (await ask(env, "PATCH", path, json={"utm_params": {"utm_campaign": "may"}})).json()["data"]
    assert (changed["name"], changed["utm_params"]) == ("Newsletter", {"utm_campaign": "may"})
    assert (await ask(env, "PATCH", path, json={"name": "Newsletter"})).status_code == 200
    for method in ("GET", "PATCH", "DELETE"):
        assert (await ask(env, method, path, env.bob, json={})).status_code == 404
    assert (await ask(env, "DELETE", path)).status_code == 204
    assert (await ask(env, "GET", path)).status_code == 404
    async with env.context.db.read() as tx:
        actions = await tx.scalars(select(audit_entries.c.action))
    assert Counter(each for each in actions if each.startswith("utm")) == {
        "utm_template.created": 2,
        "utm_template.updated": 2,
        "utm_template.deleted": 1,
    }


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, {"name", "utm_params"}),
        (NEW | {"name": " "}, {"name"}),
        (NEW | {"name": "n" * 256}, {"name"}),
        (NEW | {"utm_params": {}}, {"utm_params"}),
        (NEW | {"utm_params": {"utm_source": ""}}, {"utm_params"}),
        (NEW | {"utm_params": {"source": "x"}}, {"utm_params.source"}),
        (NEW | {"utm_params": {"utm_source": "x" * 256}}, {"utm_params.utm_source"}),
        (NEW | {"utm_params": "utm_source=x"}, {"utm_params"}),
        (NEW | {"name": "Taken"}, {"name"}),
    ],
)
async def test_what_is_refused(env: Env, fields: dict[str, Any], named: set[str]) -> None:
    taken = (await ask(env, "POST", json=NEW | {"name": "Taken"})).json()["data"]
    await ask(env, "POST", "", env.bob, json=NEW)
    refused = await ask(env, "POST", json=fields)
    assert (refused.status_code, set(faults(refused))) == (422, named)
    other = (await ask(env, "POST", json=NEW)).json()["data"]
    if fields and taken["id"] != other["id"]:
        refused = await ask(env, "PATCH", f"/{other['id']}", json=fields)
        assert (refused.status_code, set(faults(refused))) == (422, named)


async def test_an_account_has_a_limited_number(env: Env) -> None:
    now = env.context.clock()
    row = {"account_id": env.alice.account_id, "utm_params": {"utm_source": "x"}, "created_at": now, "updated_at": now}
    async with env.context.db.write() as tx:
        rows = [row | {"id": new_id(), "name": str(number)} for number in range(service.MAX_TEMPLATES)]
        await tx.execute(insert(utm_templates), rows)
    refused = await ask(env, "POST", json=NEW)
    assert faults(refused) == {"name": [service.TOO_MANY]}
    assert [_ async for _ in delete_rows(env.context, env.alice.account_id, utm_templates)] == [None]
    assert (await ask(env, "GET")).json()["meta"]["total"] == 0


async def test_pages_and_the_form_of_a_link(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert "No campaign templates yet" in (await ada.get(PAGES)).text
    assert "Save parameters as a template" in (await ada.get("/links/new")).text
    fields = {"name": 'Spring "sale"', "utm_params[utm_source]": "news & more", "utm_params[utm_medium]": ""}
    made = await ada.post(f"{PAGES}/new", fields)
    assert (made.status_code, made.headers["location"]) == (303, f"{PAGES}?done=utm-template-created")
    refused = await ada.post(f"{PAGES}/new", fields)
    assert (refused.status_code, service.NAME_TAKEN in refused.text, 'value="news &amp; more"' in refused.text) == (
        422,
        True,
        True,
    )
    form = (await ada.get("/links/new")).text
    assert '<option value="{&#34;utm_source&#34;: &#34;news \\u0026 more&#34;}">Spring &#34;sale&#34;</option>' in form
    assert 'datalist id="used-utm_source"' not in form
    listed = (await ada.get(PAGES)).text
    path = PAGES + listed.split(f'<td class="wrap" dir="auto"><a href="{PAGES}')[1].partition('"')[0]
    assert 'value="news &amp; more"' in (await ada.get(path)).text
    assert (await ada.post(path, fields | {"name": "Summer"})).status_code == 303
    assert "Summer" in (await ada.get(PAGES)).text
    assert (await ada.post(f"{path}/delete")).headers["location"] == f"{PAGES}?done=utm-template-deleted"
    assert "No campaign templates yet" in (await ada.get(PAGES)).text
