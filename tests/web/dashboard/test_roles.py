"""What members see of an account. tests/architecture has all pages: test_page_access and test_page_offers."""

from pathlib import Path

import pytest
from browsing import Browser, WebApp, open_place
from people import KEY_RING
from sqlalchemy import insert

from waypost.kit.ids import new_id
from waypost.resources.webhooks.model import webhooks

SECRET_URL = "https://hooks.example.com/services/T0/a-token-of-the-receiver"


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path) as place:
        yield place


@pytest.fixture
async def ada(place: WebApp) -> Browser:
    return await place.browser("ada@example.com")


@pytest.mark.parametrize(
    ("path", "needed", "helpers"),
    [("/links/new", "editor", "An owner or admin"), ("/account/delete", "owner", "An owner of")],
)
async def test_says_which_role_is_needed(place: WebApp, ada: Browser, path: str, needed: str, helpers: str) -> None:
    viewer = await place.member("eve@example.com", ada.account, "viewer")
    answer = await viewer.get(path)
    assert answer.status_code == 403
    assert f"This needs the role {needed}, and your role in the account ada is viewer. {helpers}" in answer.text


async def test_shows_only_hosts_of_webhooks_to_who_cannot_change_them(place: WebApp, ada: Browser) -> None:
    now, id_ = place.clock(), new_id()
    secret = KEY_RING.encrypt(webhooks.c.secret, id_, "whsec")
    row = {
        "id": id_,
        "account_id": ada.account.id,
        "url": SECRET_URL,
        "event_types": ["link.created"],
        "secret": secret,
    }
    async with place.db.write() as tx:
        await tx.execute(insert(webhooks), {**row, "created_at": now, "updated_at": now})
    editor = await place.member("eve@example.com", ada.account, "editor")
    assert SECRET_URL in (await ada.get("/webhooks")).text
    page = (await editor.get("/webhooks")).text
    assert "hooks.example.com" in page
    assert "a-token" not in page
    assert (await editor.get(f"/webhooks/{id_}")).status_code == 403


async def test_editors_import_no_domains(place: WebApp, ada: Browser) -> None:
    editor = await place.member("eve@example.com", ada.account, "editor")
    choices = (await editor.get("/links/import")).text
    assert 'href="/links/import/csv"' in choices
    assert 'href="/links/import/waypost"' not in choices
    assert (await editor.get("/links/import/waypost")).status_code == 403
    upload = {"file_name": "export.zip", "file_size": "10"}
    assert (await editor.post("/links/import/waypost", upload)).status_code == 403
    assert 'href="/links/import/waypost"' in (await ada.get("/links/import")).text
