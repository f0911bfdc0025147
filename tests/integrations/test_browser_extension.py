"""The browser extension, as built for the stores: its pages in Chromium, with a scripted `chrome` around them.

The pages are served from the service's own origin, because a page that is not an extension's may not reach another one.
"""

import json
import mimetypes
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from architecture.code import ROOT
from browser.test_access import AXE
from browser.watching import LOOP, launched
from journeys.service import Service, Website
from playwright.async_api import Browser, Page, Route, expect

from clients.typescript.generator.modules import NODE_MODULES

CHROME = """
window.asked = [];
window.chrome = {
  storage: { local: {
    get: async (name) => (localStorage[name] ? { [name]: JSON.parse(localStorage[name]) } : {}),
    set: async ({ settings }) => (localStorage.settings = JSON.stringify(settings)),
  } },
  tabs: { query: async () => [{ url: window.name || "chrome://newtab/" }] },
  permissions: { request: async ({ origins }) => (window.asked.push(...origins), window.name !== "refused") },
};
"""


@pytest.fixture(scope="module")
def zips(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if not (NODE_MODULES / ".bin" / "esbuild").exists():
        pytest.skip("esbuild is missing: make test installs it")
    directory = tmp_path_factory.mktemp("extension")
    subprocess.run([sys.executable, ROOT / "scripts" / "build-browser-extension", directory], check=True)
    return {path.name.split("-")[1]: path for path in directory.iterdir()}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    async with launched("--no-sandbox") as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def page(zips: dict[str, Path], chromium: Browser, service: Service) -> AsyncIterator[Page]:
    context = await chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = await context.new_page()
    await page.add_init_script(CHROME)

    async def file(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        with zipfile.ZipFile(zips["chrome"]) as archive:
            await route.fulfill(body=archive.read(name), content_type=mimetypes.guess_type(name)[0])

    await page.route(f"{service.base_url}/extension/*", file)
    yield page
    await context.close()


async def open_popup(page: Page, service: Service, url: str) -> None:
    await page.goto(f"{service.base_url}/extension/icon.png")
    await page.evaluate("url => window.name = url", url)
    await page.goto(f"{service.base_url}/extension/popup.html")


async def connect(page: Page, service: Service, **fields: str) -> None:
    await page.goto(f"{service.base_url}/extension/options.html")
    filled = {"Address of your Waypost": service.base_url, "API key": service.key, "Domain optional": ""} | fields
    for label, text in filled.items():
        await page.get_by_label(label, exact=True).fill(text)
    await page.get_by_role("button").click()


async def says(page: Page, text: str) -> None:
    await expect(page.get_by_role("status")).to_contain_text(text)


@LOOP
async def test_shortens_the_current_tab(page: Page, service: Service, website: Website) -> None:
    await open_popup(page, service, website.url)
    await says(page, "Enter the address of your Waypost")
    await expect(page.get_by_role("button")).to_have_count(0)
    await connect(page, service)
    await says(page, "Saved. Links are created in the account")
    assert await page.evaluate("asked") == ["http://127.0.0.1/*"]
    await open_popup(page, service, f"{website.url}/tab?a=1")
    await expect(page.get_by_label("Slug")).to_be_focused()
    await page.keyboard.type("from-a-tab")
    await page.keyboard.press("Enter")
    await says(page, "Copied.")
    short = await page.get_by_label("Short URL").input_value()
    assert await page.evaluate("navigator.clipboard.readText()") == short
    assert short.endswith("/from-a-tab")
    [link] = service.client.get("/api/v1/links", params={"search": "from-a-tab"}).json()["data"]
    assert (link["destination_url"], short) == (f"{website.url}/tab?a=1", f"http://{link['short_url']}")
    await expect(page.get_by_alt_text("QR code of the short URL")).to_be_visible()
    assert await page.evaluate("document.getElementById('code').decode().then(() => true)")


@LOOP
async def test_says_what_is_wrong(page: Page, service: Service, website: Website) -> None:
    for fields, text in (
        ({"Address of your Waypost": "http://go.example.com"}, "must begin with https://"),
        ({"Address of your Waypost": "https://"}, "Enter the address of your Waypost"),
        ({"API key": "wp_live_wrong"}, "Check the API key"),
    ):
        await connect(page, service, **fields)
        await says(page, text)
    await page.evaluate("window.name = 'refused'")
    await page.get_by_role("button").click()
    await says(page, "needs the permission")
    await page.evaluate("window.name = ''")
    await connect(page, service)
    await says(page, "Saved.")
    await open_popup(page, service, "chrome://settings/")
    await says(page, "no web address to shorten")
    await open_popup(page, service, website.url)
    await page.get_by_label("Slug").fill("no blanks")
    await page.get_by_role("button", name="Create link").click()
    await says(page, "slug: ")
    await page.get_by_label("Slug").fill("")
    await page.get_by_role("button", name="Create link").click()
    await says(page, "Copied.")


@LOOP
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_are_accessible(page: Page, service: Service, website: Website, scheme: Any) -> None:
    await page.emulate_media(color_scheme=scheme)
    await connect(page, service)
    await says(page, "Saved.")
    await assert_accessible(page)
    await open_popup(page, service, f"{website.url}/accessible")
    await assert_accessible(page)
    await page.get_by_role("button").click()
    await expect(page.get_by_role("img")).to_be_visible()
    await assert_accessible(page)


async def assert_accessible(page: Page) -> None:
    await page.evaluate(AXE)
    found = await page.evaluate(
        "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))"
    )
    assert found == []


def test_asks_for_no_more_than_it_needs(zips: dict[str, Path]) -> None:
    manifests = {}
    for store, path in zips.items():
        with zipfile.ZipFile(path) as archive:
            manifests[store] = json.loads(archive.read("manifest.json"))
            named = {"popup.html", "options.html", "icon.png", "manifest.json", "popup.js", "options.js", "style.css"}
            assert set(archive.namelist()) == named
            assert not any(b"eval(" in archive.read(name) for name in archive.namelist())
    assert manifests.keys() == {"chrome", "edge", "firefox"}
    for store, manifest in manifests.items():
        assert (manifest["permissions"], "host_permissions" in manifest) == (["activeTab", "storage"], False)
        assert ("browser_specific_settings" in manifest) == (store == "firefox")


def test_builds_the_same_bytes(zips: dict[str, Path], tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "build-browser-extension", tmp_path], check=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in zips.values()
    }
