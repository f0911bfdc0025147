"""Many links at once in a real browser: by mouse, by keyboard, and without scripts."""

from collections.abc import Iterator

import pytest
from journeys.service import Service, Website
from playwright.async_api import Browser, expect

from browser.test_dashboard_links import owner


@pytest.fixture(scope="module")
def website() -> Iterator[Website]:
    with Website() as site:
        yield site


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, website: Website) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service")) as running:
        rows = [{"destination_url": f"{website.url}/old/{number}", "title": f"Link {number}"} for number in range(30)]
        created = running.client.post("/api/v1/links/bulk", json={"links": rows}).json()
        assert created["meta"] == {"created": 30, "invalid": 0}
        yield running


async def test_selects_a_range_and_changes_it(chromium: Browser, service: Service) -> None:
    ada = await owner(chromium, service)
    page = ada.page
    await ada.visit("/links")
    await page.fill("#search", "Link 12")
    await page.wait_for_url("**search=Link+12")
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Export").click()
    assert (await (await download.value).path()).read_text().count("\n") == 2
    ada.trouble.clear()  # to a browser, a download is a page that was not loaded
    await page.fill("#search", "")
    await expect(page.get_by_text("30 links", exact=True)).to_be_visible()
    boxes = page.locator(".pick input")
    await expect(page.get_by_role("button", name="Change selected")).to_be_hidden()
    await boxes.nth(2).click()
    await boxes.nth(6).click(modifiers=["Shift"])
    await expect(page.locator("#selected")).to_have_text("5 selected")
    await boxes.nth(4).focus()
    await page.keyboard.press("Space")
    await expect(page.locator("#selected")).to_have_text("4 selected")
    await page.locator("#select-page").check()
    await expect(page.locator("#selected")).to_have_text("25 selected")
    await page.get_by_role("button", name="Change selected").click()
    await page.fill("[name='set[add_tags]']", "summer")
    await page.get_by_role("button", name="Preview changes").click()
    await page.get_by_role("button", name="Change 25 links").click()
    await expect(page.get_by_text("25 of 25 links changed.")).to_be_visible()
    assert service.client.get("/api/v1/links?tag=summer").json()["meta"]["total"] == 25
    assert ada.trouble == []


async def test_replaces_in_the_background(chromium: Browser, service: Service, website: Website) -> None:
    page = (await owner(chromium, service)).page
    await page.goto("/links/bulk?all=1")
    await page.fill("#find", "/old/")
    await page.fill("#replacement", "/new/")
    await page.get_by_role("button", name="Preview replacements").click()
    await page.get_by_role("button", name="Change 30 links").click()
    await expect(page.get_by_text("30 of 30 links changed.")).to_be_visible()
    assert service.client.get(f"/api/v1/links?search={website.url}/new/").json()["meta"]["total"] == 30


async def test_deletes_and_restores_without_scripts(chromium: Browser, service: Service) -> None:
    page = (await owner(chromium, service, java_script_enabled=False, viewport={"width": 360, "height": 800})).page
    await page.goto("/links?search=Link+1")
    await page.locator("[name=all]").check()
    await page.get_by_role("button", name="Delete selected").click()
    await page.get_by_role("button", name="Delete 11 links").click()
    await expect(page.get_by_text("11 of 11 links deleted.")).to_be_visible()
    assert service.client.get("/api/v1/links").json()["meta"]["total"] == 19
    await page.get_by_role("button", name="Undo deletion").click()
    await expect(page.get_by_text("11 of 11 links restored.")).to_be_visible()
    assert service.client.get("/api/v1/links").json()["meta"]["total"] == 30
