"""API key pages: a key is shown once, works, is revoked, and belongs to one account."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from browsing import Browser, WebApp, open_place

from waypost import accounts
from waypost.accounts import SCOPES
from waypost.accounts.auth_deps import new_deps
from waypost.accounts.people import tokens
from waypost.accounts.sign_in import service as sign_in
from waypost.web.dashboard import SessionAuth

ALL = "/integrations/api"


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path) as place:
        yield place


async def test_creates_shows_and_revokes_a_key(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    assert "No API keys yet" in (await ada.get(ALL)).text
    hostile = "<img src=x onerror=alert(1)>'\""
    await ada.post("/account/timezone", {"timezone": "America/New_York"})
    assert "In America/New York. The key stops" in (await ada.get(f"{ALL}/new")).text
    fields = {"name": hostile, "scopes[]": ["links:read", "pixels:write"], "expires_at": "2099-01-31"}
    created = await ada.post(ALL, fields)
    assert created.status_code == 201
    assert "<img src=x" not in created.text
    text = re.findall(r'<code class="wrap" id="key">(wp_live_\w+)</code>', created.text)[0]
    assert f"{place.settings.base_url}/api/v1/me" in created.text

    bearer = {"Authorization": f"Bearer {text}"}
    token = (await ada.get("/api/v1/me", headers=bearer)).json()["data"]["token"]
    assert (token["name"], token["scopes"]) == (hostile, ["links:read", "pixels:write"])
    assert token["expires_at"] == "2099-01-31T05:00:00.000000Z"
    page = (await ada.get(ALL)).text
    assert text not in page
    assert text[:12] in page
    assert "<img src=x" not in page
    assert "31 Jan 2099" in page

    revoke = f"{ALL}/{token['id']}/revoke"
    assert "cannot be undone" in (await ada.get(revoke)).text
    revoked = await ada.post(revoke)
    assert revoked.status_code == 303
    assert "Key revoked." in (await ada.get(revoked.headers["location"])).text
    assert (await ada.get("/api/v1/me", headers=bearer)).status_code == 401
    assert revoke not in (await ada.get(ALL)).text


async def test_errors_are_shown_and_input_is_kept(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    answer = await ada.post(ALL, {"name": " ", "expires_at": "2001-01-01", "scopes[]": "links:fly"})
    assert answer.status_code == 422
    for error in ("Enter a name.", "The expiry must be in the future."):
        assert error in answer.text
    assert 'value="2001-01-01"' in answer.text
    answer = await ada.post(ALL, {"name": "Robot"})
    assert "Select at least one scope." in answer.text
    assert 'value="Robot"' in answer.text
    assert "This must be one of" in (await ada.post(ALL, {"name": "Robot", "scopes[]": "links:fly"})).text
    assert ada.account
    assert await accounts.list_keys(place.db, ada.account.id) == []


@pytest.mark.parametrize(
    ("access", "scopes"), [("full", set(SCOPES)), ("read", {"links:read", "domains:read", "pixels:read"})]
)
async def test_scopes_are_chosen_by_the_access(place: WebApp, access: str, scopes: set[str]) -> None:
    ada = await place.browser("ada@example.com")
    assert (await ada.post(ALL, {"name": "Robot", "access": access, "scopes[]": "links:write"})).status_code == 201
    assert ada.account
    (key,) = await accounts.list_keys(place.db, ada.account.id)
    assert set(key.scopes) == scopes
    assert "This must be one of" in (await ada.post(ALL, {"name": "Robot", "access": "all"})).text


async def test_the_key_of_another_account_is_not_found(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    assert ada.account
    key, _ = await accounts.create_key(place.db, account_id=ada.account.id, name="Hers", scopes=(), now=place.clock())
    way = f"{ALL}/{key.id}/revoke"
    assert (await bob.get(way)).status_code == 404
    assert (await bob.post(way)).status_code == 404
    assert (await ada.client.post(way)).status_code == 403
    assert (await ada.client.post(ALL, data={"name": "x", "scopes[]": "links:read"})).status_code == 403
    assert [each.revoked_at for each in await accounts.list_keys(place.db, ada.account.id)] == [None]
    assert "Hers" not in (await bob.get(ALL)).text
    visitor = await place.browser()
    assert (await visitor.get(ALL)).headers["location"] == "/login?next=/integrations/api"


async def reset(place: WebApp, browser: Browser) -> None:
    """A new password by mail, which takes away every key."""
    assert browser.person
    theirs = {"person_id": browser.person.id, "email": browser.person.email}
    async with place.db.write() as tx:
        text = await tokens.issue(tx, "reset", now=place.clock(), **theirs)
    deps = new_deps(place.settings, place.db, place.clock)
    await sign_in.reset_password(deps, text, "a password of her own", remove_credentials=True, ip="")


async def test_a_concurrent_key_does_not_outlive_the_removal_of_all_keys(
    place: WebApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await place.browser("ada@example.com")
    known, go_on, takes = asyncio.Event(), asyncio.Event(), SessionAuth.limit_expensive

    async def wait(auth: SessionAuth, *rest: Any) -> None:
        """Signed in by now, and nothing written yet."""
        known.set()
        await go_on.wait()
        await takes(auth, *rest)

    monkeypatch.setattr(SessionAuth, "limit_expensive", wait)
    asked = asyncio.create_task(ada.post(ALL, {"name": "Late", "scopes[]": "links:read"}))
    await known.wait()
    await reset(place, ada)
    go_on.set()
    assert (await asked).headers["location"].startswith("/login")
    assert ada.account
    assert await accounts.list_keys(place.db, ada.account.id) == []

    bob = await place.browser("bob@example.com")
    assert bob.account
    many = [bob.post(ALL, {"name": f"Key {number}", "scopes[]": "links:read"}) for number in range(8)]
    *answers, _ = await asyncio.gather(*many, reset(place, bob))
    assert {answer.status_code for answer in answers} <= {201, 303}
    assert await accounts.list_keys(place.db, bob.account.id) == []


async def test_the_pages_warn_without_an_active_plan(place: WebApp) -> None:
    ada = await place.browser("ada@example.com", plan="none")
    assert "402 Payment Required" in (await ada.get(ALL)).text
    assert "402 Payment Required" in (await ada.post(ALL, {"name": "Robot", "scopes[]": "links:read"})).text


async def test_the_api_reference_is_public(place: WebApp) -> None:
    visitor = await place.browser()
    page = await visitor.get("/docs")
    assert page.status_code == 200
    assert f'data-server="{place.settings.base_url}"' in page.text
    assert "unsafe-eval" not in page.headers["content-security-policy"]
    script = re.findall(r"/assets/vendor/scalar\.\w+\.js", page.text)[0]
    answer = await visitor.get(script, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert "scalar." not in (await (await place.browser("ada@example.com")).get(ALL)).text
