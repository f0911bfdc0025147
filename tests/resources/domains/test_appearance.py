"""GET and PATCH /v1/domains/{id}/appearance, and the page of the dashboard."""

import json
from pathlib import Path
from typing import Any

import pytest
from browsing import WebApp, open_place
from resources.domains.env import NAME, Env
from resources.domains.test_pages import add, set_
from resources.links.env import faults

from waypost.resources.domains.appearance.store import find_appearance

DEFAULTS = dict.fromkeys(("name", "color", "not_found_text", "expired_text", "not_started_text", "password_text"))


async def patch(env: Env, domain: dict[str, Any], fields: Any, **rest: Any) -> Any:
    return await env.ask("PATCH", f"/{domain['id']}/appearance", content=json.dumps(fields), **rest)


async def get(env: Env, domain: dict[str, Any]) -> dict[str, Any]:
    answer = await env.ask("GET", f"/{domain['id']}/appearance")
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


async def test_changes_what_was_sent(env: Env) -> None:
    made = await env.make()
    defaults = {"domain_id": made["id"], **DEFAULTS, "updated_at": None}
    assert await get(env, made) == defaults
    assert (await patch(env, made, {})).json()["data"] == defaults
    env.published.clear()
    sent = {"name": " Acme ", "color": "#7C3", "expired_text": "Over.\nSorry."}
    answer = (await patch(env, made, sent)).json()["data"]
    assert answer == defaults | {"name": "Acme", "color": "#77cc33", "expired_text": "Over.\nSorry."} | {
        "updated_at": answer["updated_at"]
    }
    assert await get(env, made) == answer
    assert [each.removeprefix("@") for each in env.published] == [NAME]
    env.published.clear()
    assert (await patch(env, made, {"name": "Acme"})).json()["data"] == answer
    assert env.published == [], "unchanged"
    assert (await patch(env, made, {"name": None, "expired_text": " "})).json()["data"].items() >= {
        "name": None,
        "expired_text": None,
        "color": "#77cc33",
    }.items()


async def test_refuses_what_no_page_can_have(env: Env) -> None:
    made = await env.make()
    wrong = {"name": "N" * 61, "color": "teal", "not_found_text": "t" * 301, "password_text": "\0"}
    assert faults(await patch(env, made, wrong)).keys() == wrong.keys()
    assert faults(await patch(env, made, {"name": "two\nlines"})).keys() == {"name"}
    for method in ("GET", "PATCH"):
        answer = await env.ask(method, f"/{made['id']}/appearance", content="{}", who=env.bob)
        assert answer.status_code == 404


async def test_ends_with_its_domain(env: Env) -> None:
    made = await env.make()
    await patch(env, made, {"name": "Acme"})
    assert (await find_appearance(env.deps.db, NAME.encode())).name == "", "not served yet"
    await env.delete(made)
    assert (await get(env, await env.make()))["name"] is None


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path, shared_domain="go.test") as place:
        yield place


async def test_previews_before_it_saves(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    form = {"name": "Acme", "color": "#7c3aed", "expired_text": "Over.\r\nSorry."}
    await set_(place, path, root_url="https://example.com/")  # the name would lead there
    for name in ("not_found", "expired", "not_started", "password", "info"):
        previewed = await ada.post(f"{path}/appearance/preview", {**form, "page": name})
        assert (previewed.status_code, "Acme" in previewed.text) == (200, True)
        assert ("Over.\nSorry." in previewed.text) == (name == "expired")
        assert not [each for each in ("<a href", "autofocus", 'method="post"') if each in previewed.text], name
        assert "frame-ancestors 'self'" in previewed.headers["content-security-policy"]
    assert "hex color" in (await ada.post(f"{path}/appearance/preview", {**form, "color": "red"})).text
    assert "Acme" not in (await ada.get(f"{path}/appearance/preview?page=expired")).text, "nothing was saved"
    refused = await ada.post(f"{path}/appearance", {**form, "color": "red"})
    assert (refused.status_code, "hex color" in refused.text, "Acme" in refused.text) == (422, True, True)
    assert (await ada.post(f"{path}/appearance", form)).headers["location"] == f"{path}/appearance?done=saved"
    assert "Acme" in (await ada.get(f"{path}/appearance/preview")).text
    await set_(place, path, is_served=True, status="verified", unverified_since=None)
    assert (await find_appearance(place.db, NAME.encode())).expired_text == "Over.\nSorry."
