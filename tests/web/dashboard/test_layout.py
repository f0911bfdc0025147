"""The frame: who gets in, what pages may do, and errors as pages."""

import re
from pathlib import Path
from typing import cast

import pytest
from browsing import WebApp, open_place

from waypost.web.dashboard import Assets, SessionAuth, Views, design_page


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
    pages = [(await ada.get(path)).text for path in ("/domains", "/account", "/integrations")]
    links = re.findall(r'href="/help/([^"]*)" target="_blank" rel="noreferrer"', "".join(pages))
    assert {"guides/domains/#dns-records", "guides/dashboard/#sign-in", "guides/integrations/n8n/"} < set(links)
    for link in links:
        assert (await ada.get(f"/help/{link}")).status_code == 200, link


async def test_unknown_pages_of_the_documentation_are_not_found(place: WebApp) -> None:
    nobody = await place.browser()
    answer = await nobody.get("/help/guides/unknown/")
    assert (answer.status_code, "Page not found" in answer.text) == (404, True)


async def test_redirects_to_sign_in_and_back(place: WebApp) -> None:
    nobody = await place.browser()
    assert (await nobody.get("/")).headers["location"] == "/login"


async def test_says_where_a_page_is(place: WebApp) -> None:
    ada = await place.browser("ada@example.com")
    page = (await ada.get("/account/audit")).text
    assert re.findall(r'href="([^"]+)" aria-current="page"', page) == ["/account/settings", "/account/audit"]
    assert '<nav class="crumbs" aria-label="Breadcrumb"><a href="/account/settings">Settings</a></nav>' in page
    assert "crumbs" not in (await ada.get("/links")).text


@pytest.mark.parametrize(("base_url", "is_shown"), [("http://localhost:8000", True), ("https://go.example.com", False)])
def test_the_components_are_shown_on_the_machine_of_a_developer_only(
    place: WebApp, base_url: str, is_shown: bool
) -> None:
    views = Views({}, Assets(), base_url=base_url, docs_url="", clock=place.clock)
    assert bool(design_page.endpoints(cast("SessionAuth", None), views)) is is_shown


async def test_api_errors_stay_json(place: WebApp) -> None:
    nobody = await place.browser()
    assert (await nobody.get("/api/nothing")).json()["error"]["code"] == "not_found"
