"""The frame: who gets in, what pages may do, and errors as pages."""

from pathlib import Path

import pytest
from browsing import WebApp, open_place


@pytest.fixture
async def place(database_url: str, tmp_path: Path):
    async with open_place(database_url, tmp_path) as place:
        yield place


async def test_renders_pages_in_the_layout(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    page = await ada.get("/")
    assert page.status_code == 200
    assert "Overview" in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]


@pytest.mark.parametrize(("accepted", "encoding"), [("gzip, br", "gzip"), ("identity", None)])
async def test_compresses_pages_if_the_client_accepts_gzip(place: WebApp, accepted: str, encoding: str | None) -> None:
    ada = await place.browser("ada@example.com")
    page = await ada.get("/", headers={"Accept-Encoding": accepted})
    assert page.headers.get("content-encoding") == encoding
    assert page.headers["vary"] == "Accept-Encoding"
    assert "Overview" in page.text


async def test_links_to_the_documentation_of_the_page(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    for path, about in (("/domains", "guides/domains/#dns-records"), ("/account", "guides/dashboard/#sign-in")):
        url = f"https://waypost.github.io/waypost/{about}"
        assert f'<a href="{url}" target="_blank" rel="noreferrer">' in (await ada.get(path)).text


async def test_redirects_to_sign_in_and_back(place: WebApp) -> None:
    nobody = await place.browser()
    assert (await nobody.get("/")).headers["location"] == "/login"


async def test_api_errors_stay_json(place: WebApp) -> None:
    nobody = await place.browser()
    assert (await nobody.get("/api/nothing")).json()["error"]["code"] == "not_found"
