"""Codes, domains, pixels and webhooks in a real browser: what follows by itself, and what needs no scripts."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import pytest_asyncio
import zxingcpp
from journeys.service import OWNER, Service, Website
from PIL import Image
from playwright.async_api import Browser, Page, expect
from resources.webhooks.receiver import Receiver
from sqlalchemy import update

from browser.watching import Watched, watched
from waypost.accounts import get_person
from waypost.accounts.sessions import store as sessions
from waypost.database import Database
from waypost.kit.clock import now
from waypost.resources.domains.model import domains

PATIENCE = 240_000  # milliseconds; only a broken service makes anybody wait that long
UPDATED = "[data-image*='style=dots'][data-image*='1d3557']"


@pytest_asyncio.fixture(loop_scope="session")
async def db(service: Service) -> AsyncIterator[Database]:
    """The service's own."""
    opened = Database(f"sqlite:///{service.directory}/data/waypost.db")
    yield opened
    await opened.close()


async def owner(chromium: Browser, service: Service, db: Database, **context: object) -> Watched:
    """The account's, signed in."""
    person = await get_person(db, OWNER)
    async with db.write() as tx:
        token = await sessions.create(tx, person.id, user_agent="a test", ip="127.0.0.1", now=now())
    browser = await watched(chromium, base_url=service.base_url, **context)
    browser.page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    await browser.page.context.add_cookies([{"name": "waypost", "value": token, "url": service.base_url}])
    return browser


async def download(page: Page, text: str, to: Path) -> Path:
    async with page.expect_download() as begun:
        await page.click(f"text={text}")
    await (await begun.value).save_as(to)
    return to


async def test_a_code_is_seen_while_it_is_designed(chromium, service: Service, db: Database, tmp_path: Path) -> None:
    with Website() as website:
        fields = {"destination_url": website.url, "slug": "poster"}
        link = service.client.post("/api/v1/links", json=fields).json()["data"]
    ada = await owner(chromium, service, db)
    page = ada.page
    await ada.visit(f"/links/{link['id']}/qrcode")
    await page.check("text=Dots")
    await page.get_by_label("Foreground", exact=True).fill("#1d3557")
    await page.wait_for_selector(UPDATED, state="attached")
    assert "foreground=%231d3557" in await page.get_attribute("#image", "src")
    assert await page.input_value("[data-color=foreground]") == "#1d3557"
    await page.fill("#background", "#1d3550")
    await expect(page.get_by_text("contrast of 1.0:1")).to_be_visible()
    await page.fill("#background", "red")
    await expect(page.get_by_text("Background: This must be a hex color")).to_be_visible()
    await page.fill("#background", "#ffffff")
    await expect(page.get_by_text("not saved yet")).to_be_visible()
    picture = await download(page, "Download PNG", tmp_path / "code.png")
    (code,) = zxingcpp.read_barcodes(Image.open(picture).convert("L"))
    assert code.text == f"http://{link['short_url']}?r=qr"
    await page.click("button:has-text('Save')")
    await expect(page.get_by_text("Changes saved.")).to_be_visible()
    assert await page.is_checked("text=Dots")
    await crop_logo(page, tmp_path)
    # noted, too: the download, and requests for a preview that a later change or saving aborted
    assert [each for each in ada.trouble if "/image/png" not in each and not each.startswith("htmx:")] == []


async def crop_logo(page: Page, directory: Path) -> None:
    """With the keyboard. The part that is used is shown before and after the upload."""
    image = Image.new("RGB", (200, 100), "red")
    image.paste("blue", (100, 0, 200, 100))
    image.save(directory / "logo.png")
    await page.set_input_files("#file", directory / "logo.png")
    await expect(page.get_by_role("img", name="The part of the image that is used")).to_be_visible()
    await page.get_by_label("Crop").focus()
    await page.keyboard.press("S")
    await page.get_by_text("Cut off edges").focus()
    await page.keyboard.press("Enter")
    await page.get_by_label("Left").fill("60")
    canvas = page.locator("#crop-preview")
    await expect(canvas).to_have_js_property("width", 80)
    await expect(canvas).to_have_js_property("height", 80)
    pixel = await canvas.evaluate("canvas => [...canvas.getContext('2d').getImageData(9, 9, 1, 1).data]")
    assert pixel == [0, 0, 255, 255]
    await page.get_by_role("button", name="Upload for all links").click()
    await expect(page.get_by_alt_text("The logo, cropped")).to_be_visible()
    assert await page.get_by_alt_text("The logo, cropped").evaluate("image => image.naturalWidth") == 80
    await page.get_by_role("button", name="Delete logo").click()


async def test_a_domain_s_state_follows_by_itself(chromium, service: Service, db: Database) -> None:
    ada = await owner(chromium, service, db, permissions=["clipboard-read", "clipboard-write"])
    page = ada.page
    await ada.visit("/domains")
    await page.fill("#hostname", "go.brand.example.com")
    await page.click("text=Add domain >> nth=-1")
    await page.click("button:has-text('Copy the TXT record\\'s name')")
    await expect(page.locator("#toast")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == "_waypost.go.brand.example.com"
    await page.evaluate("window.stays = true")
    await page.click("button:has-text('Verify domain')")
    await expect(page.locator("#state")).to_contain_text("Checking…")
    async with db.write() as tx:  # the result of a check is shown, whichever process made it
        said = {"status": "failed", "error": "No record was found."}
        await tx.execute(
            update(domains).where(domains.c.id == UUID(urlsplit(page.url).path.rpartition("/")[2])).values(said)
        )
    await expect(page.locator("#state")).to_contain_text("Not verified")
    assert await page.evaluate("window.stays")
    await page.fill("#root_url", "https://bücher.example/a")
    await page.click("button:has-text('Save')")
    await expect(page.get_by_text("Changes saved.")).to_be_visible()
    assert await page.input_value("#root_url") == "https://xn--bcher-kva.example/a"  # what is kept, not what was typed
    await page.click("text=Delete domain")
    await page.click("dialog >> text=Cancel")
    await expect(page.locator("dialog")).to_be_hidden()
    await page.click("text=Delete domain")
    await page.click("dialog >> text=Delete domain")
    await expect(page.get_by_text("Domain deleted.")).to_be_visible()
    await expect(page.get_by_role("link", name="go.brand.example.com")).to_have_count(0)
    assert (ada.trouble, await page.input_value("#hostname")) == ([], "")


async def test_a_delivery_s_state_follows_by_itself(
    chromium, service: Service, db: Database, receiver: Receiver
) -> None:
    ada = await owner(chromium, service, db)
    page = ada.page
    await ada.visit("/webhooks/new")
    await page.fill("#url", receiver.url("/resources"))
    await page.check("text=A link was created")
    await page.click("button:has-text('Add webhook')")
    secret = await page.inner_text("#secret")
    await page.click("text=Done")
    receiver.will("/resources", 200)
    await page.click("text=Send test event")
    await expect(page.locator("#attempts")).to_contain_text("Delivered")
    await expect(page.locator("#attempts")).to_contain_text("200")
    await page.click("text=Redeliver")
    await expect(page.locator("#attempts")).to_contain_text("Delivered")
    first, second = await asyncio.to_thread(receiver.wait_for, "/resources", 2)
    assert (first.body, first.is_signed_with(secret), second.is_signed_with(secret)) == (second.body, True, True)
    await page.click("nav.crumbs >> text=Deliveries")
    await page.select_option("[name=status]", "failed")
    await expect(page.get_by_text("No matching deliveries")).to_be_visible()
    assert page.url.endswith("?status=failed&event=")
    await page.select_option("[name=status]", "delivered")
    await expect(page.locator("#deliveries tbody tr")).to_have_count(1)
    assert ada.trouble == []


async def test_it_works_without_scripts(chromium, service: Service, db: Database) -> None:
    ada = await owner(chromium, service, db, java_script_enabled=False)
    page = ada.page
    await page.goto("/pixels/new")
    await page.check("text=Google Ads")
    await expect(page.get_by_text("accepts no events from servers")).to_be_visible()
    await page.fill("#name", "Search")
    await page.fill("#pixel_id", "my campaign")
    await page.click("button:has-text('Add pixel')")
    await expect(page.get_by_text("does not look like a Google Ads pixel ID")).to_be_visible()
    await page.fill("#pixel_id", "123456789")
    await page.click("button:has-text('Add pixel')")
    await expect(page.get_by_text("No link uses this pixel yet.")).to_be_visible()
    await page.click("text=Delete pixel")
    await expect(page.locator("h1")).to_have_text("Delete Search?")
    await page.click("button:has-text('Delete pixel')")
    await expect(page.get_by_text("Pixel deleted.")).to_be_visible()
    await expect(page.get_by_role("link", name="Search", exact=True)).to_have_count(0)
    for name, color in (("spring", "Green"), ("fall", "Orange")):
        await page.goto("/tags/new")
        await page.fill("#name", name)
        await page.check(f"text={color}")
        await page.click("button:has-text('Create tag')")
        await expect(page.get_by_text("Tag created.")).to_be_visible()
    await page.click("a:has-text('Edit fall')")
    await expect(page.locator("[value=orange]")).to_be_checked()
    await page.fill("#name", "spring")
    await page.click("button:has-text('Save changes')")
    await expect(page.locator("h1")).to_have_text("Merge fall into spring?")
    await page.click("button:has-text('Merge tags')")
    await expect(page.locator("tbody tr")).to_have_count(1)
    assert [each for each in ada.trouble if "422" not in each] == []  # a browser logs what is refused
