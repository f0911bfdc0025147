"""The page with the app links of a domain, as a browser gets it."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from browsing import Browser, WebApp, open_place
from resources.domains.test_pages import NAME, add, set_

from waypost.resources.domains.app_links import apple, documents, pages
from waypost.resources.domains.app_links.schemas import APPLE_EXAMPLE, GOOGLE_EXAMPLE

APPLE, GOOGLE = "apple_app_site_association", "assetlinks"


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path, shared_domain="go.test") as place:
        yield place


async def save(browser: Browser, path: str, apple_text: str = "", google_text: str = "") -> Any:
    """Submit the form as a browser does: multipart."""
    parts = [(APPLE, (None, apple_text)), (GOOGLE, (None, google_text))]
    return await browser.post(f"{path}/app-links", files=parts)


def typed(page: str) -> dict[str, str]:
    return {
        name: unescape(text)
        for name, text in re.findall(r'<textarea[^>]* name="(\w+)".*?>(.*?)</textarea>', page, re.DOTALL)
    }


async def test_saves_and_clears_the_documents(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    assert f'href="{path}/app-links"' in (await ada.get(path)).text
    assert typed((await ada.get(f"{path}/app-links")).text) == {APPLE: "", GOOGLE: ""}
    saved = await save(ada, path, json.dumps(APPLE_EXAMPLE), f"\r\n{json.dumps(GOOGLE_EXAMPLE, indent=8)}\r\n")
    assert (saved.status_code, saved.headers["location"]) == (303, f"{path}/app-links?done=saved")
    page = (await ada.get(saved.headers["location"])).text
    assert "Changes saved." in page
    assert {name: json.loads(text) for name, text in typed(page).items()} == {
        APPLE: APPLE_EXAMPLE,
        GOOGLE: GOOGLE_EXAMPLE,
    }
    assert ("not verified" in page, "Check these places" in page) == (True, False)
    await set_(place, path, is_served=True, status="verified", unverified_since=None, tls_status="active")
    page = (await ada.get(f"{path}/app-links")).text
    assert "not verified" not in page
    for url in (
        f"https://{NAME}/.well-known/assetlinks.json",
        f"https://app-site-association.cdn-apple.com/a/v1/{NAME}",
    ):
        assert f'href="{url}"' in page
    await save(ada, path)
    assert "What Apple has read" not in (await ada.get(f"{path}/app-links")).text


async def test_errors_have_their_place_and_the_text_stays(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    wrong = '{"applinks": {"details": [{"appIDs": ["</textarea><script>"]}]}}'
    answer = await save(ada, path, wrong, "[\n  {,\n]")
    assert answer.status_code == 422
    page = unescape(answer.text)
    assert f"applinks.details.0.appIDs.0</code>: {apple.APP_ID}" in page
    assert f"{documents.NOT_JSON} Line 2, column 4: " in page
    assert "</textarea><script>" not in answer.text
    assert 'aria-describedby="assetlinks-hint assetlinks-error" aria-invalid="true"' in answer.text
    assert typed(answer.text) == {APPLE: wrong, GOOGLE: "[\n  {,\n]"}
    for text, message in (
        ("5", "This must be an object."),
        ("NaN", documents.NOT_JSON),
        ('{"a": 1, "a": 2}', pages._REPEATED_KEY),
        ("[" * 5_000, documents.TOO_DEEP),
        ('{"x": "' + "x" * (128 << 10) + '"}', "at most 128 KiB"),
    ):
        answer = await save(ada, path, text)
        assert (answer.status_code, message in answer.text) == (422, True), message


async def test_hints_are_shown_after_saving(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    path = await add(ada)
    saved = await save(ada, path, '{"appLinks": {}}')
    page = (await ada.get(saved.headers["location"])).text
    assert ("Check these places" in page, '<code class="wrap">appLinks</code>' in page) == (True, True)


async def test_only_the_owner_gets_the_page(place: WebApp) -> None:
    ada, bob = await place.browser("ada@example.com"), await place.browser("bob@example.com")
    path = await add(ada)
    assert {(await bob.get(f"{path}/app-links")).status_code, (await save(bob, path, "{")).status_code} == {404}
    nobody = await place.browser()
    assert (await nobody.get(f"{path}/app-links")).headers["location"].startswith("/login")
