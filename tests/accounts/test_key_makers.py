"""API keys of an account with several members: who made them, and what they can still do."""

from pathlib import Path

import pytest
from browsing import Browser, WebApp, open_place

from waypost import accounts
from waypost.accounts import roles
from waypost.accounts.auth_deps import Deps, new_deps
from waypost.accounts.members import service as members
from waypost.accounts.model import ROLES, Role
from waypost.accounts.roles import SCOPES
from waypost.audit import Actor

ALL = "/integrations/api"
KEY = {"name": "Shop", "scopes[]": ["links:read", "domains:write"]}


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path) as place:
        yield place


def deps_of(place: WebApp) -> Deps:
    return new_deps(place.settings, place.db, place.clock)


async def page_of_key(place: WebApp, reader: Browser) -> str:
    key, *_ = await accounts.list_keys(place.db, reader.account.id)
    assert f'href="{ALL}/{key.id}"' in (await reader.get(ALL)).text
    return (await reader.get(f"{ALL}/{key.id}")).text


async def test_shows_what_the_role_of_the_maker_still_allows(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    eve = await place.member("eve@example.com", ada.account, "admin")
    assert (await eve.post(ALL, KEY)).status_code == 201
    assert "Created by eve" in (await ada.get(ALL)).text
    assert "not allowed" not in await page_of_key(place, ada)
    await members.change_role(deps_of(place), Actor.command(ada.account.id, "a test"), eve.person.id, "editor")
    page = await page_of_key(place, ada)
    assert "eve has the role editor" in page
    assert page.count("not allowed") == 1


async def test_names_the_command_line_and_former_members(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    eve = await place.member("eve@example.com", ada.account, "admin")
    await accounts.create_key(place.db, account_id=ada.account.id, name="cron", scopes=(), now=place.clock())
    assert "Created by the command line" in (await ada.get(ALL)).text
    assert (await eve.post(ALL, KEY)).status_code == 201
    await members.remove(deps_of(place), Actor.command(ada.account.id, "a test"), eve.person.id)
    listed = (await ada.get(ALL)).text
    assert "Created by eve" in listed
    assert "former member" in listed
    assert "no longer a member" in await page_of_key(place, ada)


@pytest.mark.parametrize("role", ["viewer", "editor"])
async def test_shows_names_and_prefixes_to_others(place: WebApp, role: Role) -> None:
    ada = await place.browser("ada@example.com")
    key, _ = await accounts.create_key(place.db, account_id=ada.account.id, name="cron", scopes=(), now=place.clock())
    eve = await place.member("eve@example.com", ada.account, role)
    page = (await eve.get(ALL)).text
    assert key.name in page
    assert key.prefix in page
    for hidden in ("Created by", "Revoke", "Create key", str(key.id)):
        assert hidden not in page
    assert (await eve.get(f"{ALL}/{key.id}")).status_code == 403


def test_the_form_needs_not_ask_for_a_role() -> None:
    """Who may create keys may use each scope: otherwise the form had to leave scopes out."""
    for role in ROLES:
        if roles.may(role, "keys.write"):
            assert roles.allowed_scopes(SCOPES, role) == list(SCOPES)
