"""VisitTotals in a real browser: in its time zone, as clicks arrive, by keyboard, and without scripts."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx
import pytest
from journeys.service import OWNER, Service, Website
from playwright.async_api import Browser, expect

from browser.watching import Watched, watched
from waypost.accounts import get_person
from waypost.accounts.sessions import store as sessions
from waypost.database import Database

VISITOR = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
PATIENCE = 240_000  # milliseconds; only a broken service makes anybody wait that long


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as running:
        yield running


async def signed_in(chromium: Browser, service: Service, **context: object) -> Watched:
    db = Database(f"sqlite:///{service.directory}/data/waypost.db")
    person = await get_person(db, OWNER)
    now = datetime.now(UTC)
    async with db.write() as tx:
        token = await sessions.create(tx, person.id, user_agent="", ip="127.0.0.1", now=now)
    await db.close()
    watch = await watched(chromium, **context)
    watch.page.set_default_timeout(PATIENCE)
    await watch.page.context.add_cookies([{"name": "waypost", "value": token, "url": service.base_url}])
    return watch


MANY = """() => {
  for (const each of document.querySelectorAll("#numbers dd a")) each.textContent = "123,456,789"
  for (const each of document.querySelectorAll("#numbers .badge")) each.textContent = "12,345,678 from link previews"
}"""
TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll(".stat")]
  .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.outerHTML.slice(0, 80))"""


async def test_statistics_page_shows_and_updates_clicks(chromium: Browser, service: Service) -> None:
    expect.set_options(timeout=PATIENCE)
    with Website() as website:
        made = service.client.post("/api/v1/links", json={"destination_url": website.url, "title": "Spring"})
    link = made.json()["data"]
    url = f"{service.base_url}/links/{link['id']}"
    ada = await signed_in(chromium, service, timezone_id="Asia/Tokyo", viewport={"width": 360, "height": 800})
    page = ada.page
    async with page.expect_response("**/account/timezone"):
        await ada.visit(url)
    await ada.visit(url)
    await expect(page.locator("#dates")).to_contain_text("Times in Asia/Tokyo")
    await expect(page.locator("[data-live-badge]")).to_be_visible()
    await expect(page.locator("#no-clicks")).to_be_visible()

    came = {"User-Agent": VISITOR, "Referer": "https://news.example/a?b"}
    assert httpx.get(f"http://{link['short_url']}", headers=came, trust_env=False, timeout=60).status_code == 302
    row = page.locator("#clicks tr")
    await expect(row).to_contain_text("Desktop, Chrome, Linux")
    await expect(row).to_contain_text("news.example")
    await expect(page.locator("#numbers dd").first).to_contain_text("1")
    await expect(page.locator("#referrers")).to_contain_text("news.example")
    await expect(page.locator("[data-chart] canvas")).to_be_visible()
    await expect(page.locator("#no-clicks")).to_be_hidden()

    await page.focus("#period")
    await page.keyboard.press("ArrowUp")
    await page.wait_for_url("**period=7d**")
    await expect(page.locator("#series tbody tr")).to_have_count(7)
    await expect(page.locator("#period")).to_be_focused()
    await page.evaluate(MANY)
    for width in (360, 390, 768):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await page.evaluate(TOO_WIDE) == []

    await page.focus("#referrers a")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**period=7d**referrer=news.example")
    await expect(page.locator("#filters")).to_be_focused()
    await expect(page.locator(".chips")).to_contain_text("Referrer is news.example")
    await expect(page.locator("#latest")).to_be_hidden()
    await page.locator(".switch").get_by_text("Platforms").click()
    await page.click("#platforms a")
    await expect(page.locator(".chips")).to_contain_text("Platform is Linux")
    await expect(page.locator("#platforms")).to_be_visible()  # the card still shows this list
    await page.go_back()
    await expect(page.locator(".chips")).not_to_contain_text("Platform")
    await page.get_by_label("Remove the filter Referrer news.example").click()
    await expect(page.locator("#latest")).to_be_visible()
    box = await page.locator(".u-over").bounding_box()
    assert box
    await page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 9)
    await page.mouse.down()
    await page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 9, steps=3)
    await page.mouse.up()
    await page.wait_for_url("**period=custom**")
    await expect(page.locator("#to")).to_have_value(re.compile(r"\d{4}-\d\d-\d\d"))
    await page.get_by_text("Save this view").click()
    await page.get_by_label("Name").fill("These days")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**period=custom**done=view-saved")
    await expect(page.locator("nav a[aria-current='true']")).to_have_text("These days")
    assert (ada.trouble, await page.evaluate("violations")) == ([], [])

    assert [cookie["name"] for cookie in await page.context.cookies()] == ["waypost"]

    plain = await signed_in(chromium, service, java_script_enabled=False)
    await plain.page.goto(url)
    await expect(plain.page.locator("#clicks tr")).to_contain_text("Desktop, Chrome, Linux")
    await plain.page.click("#countries a")
    await plain.page.get_by_label(re.compile("Remove the filter Country")).click()
    await plain.page.select_option("#period", "custom")
    await plain.page.click("form.period button")
    assert await plain.page.input_value("#to") == f"{datetime.now(ZoneInfo('Asia/Tokyo')):%Y-%m-%d}"
    await plain.page.click("summary:has-text('Show as a table')")
    await expect(plain.page.locator("#series tbody tr")).to_have_count(30)
    await plain.page.goto(f"{service.base_url}/stats")
    await plain.page.get_by_text("These days").click()
    await plain.page.wait_for_url(f"{url}?period=custom**")
    assert service.stop() == 0  # with streams open
