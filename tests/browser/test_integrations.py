"""The dashboard as an app that browsers install, what is shared with it, and the bookmarklet."""

import io
import re
from urllib.parse import urlencode

import httpx
from journeys.service import Service, Website
from PIL import Image
from playwright.async_api import Browser, expect

from browser.test_dashboard_links import owner


async def test_browsers_can_install_the_dashboard(chromium: Browser, service: Service) -> None:
    ada = await owner(chromium, service)
    await ada.visit("/links")
    assert ada.trouble == []
    devtools = await ada.page.context.new_cdp_session(ada.page)
    manifest = await devtools.send("Page.getAppManifest")
    assert (manifest["url"], manifest["errors"]) == (f"{service.base_url}/manifest.json", [])
    parsed = manifest["manifest"]
    assert (parsed["display"], parsed["scope"]) == ("kStandalone", f"{service.base_url}/")
    for icon in parsed["icons"]:
        image = Image.open(io.BytesIO(httpx.get(icon["url"], timeout=60).content))
        assert (image.format, f"{image.width}x{image.height}") == ("PNG", icon["sizes"])
    not_found = [each for each in parsed["shortcuts"] if not (await ada.page.request.get(each["url"])).ok]
    assert not_found == []
    target = parsed["shareTarget"]
    await ada.visit(f"{target['action']}?{urlencode({'title': 'A', 'text': 'A https://example.com/b'})}")
    await expect(ada.page.locator("#destination_url")).to_have_value("https://example.com/b")


async def test_the_bookmarklet_opens_the_form_with_the_page(chromium: Browser, service: Service) -> None:
    with Website() as website:
        ada = await owner(chromium, service)
        page = ada.page
        before = service.client.get("/api/v1/links").json()["data"]
        await ada.visit("/integrations")
        bookmarklet = await page.locator("#bookmarklet").get_attribute("href")
        await page.locator("#bookmarklet").click()
        await expect(page.locator("#bookmarklet-hint")).to_contain_text("Drag the button")
        assert ada.trouble == []
        assert bookmarklet
        await page.goto(f"{website.url}/a?b=c&d=ä#e")
        async with page.expect_popup() as opening:
            await page.evaluate(bookmarklet.removeprefix("javascript:"))
        form = await opening.value
        await expect(form.locator("#destination_url")).to_have_value(f"{website.url}/a?b=c&d=%C3%A4#e")
        await expect(form.locator("#title")).to_have_value("A page")
        assert service.client.get("/api/v1/links").json()["data"] == before


async def test_a_shared_page_is_not_replaced_by_earlier_input(chromium: Browser, service: Service) -> None:
    page = (await owner(chromium, service)).page
    cookies = await page.context.cookies()
    for path, destination in (
        ("/links/new", "http://typed"),
        ("/links/new?url=https://b.example/", "https://b.example/"),
    ):
        await page.goto("/links/new")
        async with page.expect_response(f"{service.base_url}/links/preview"):  # which leads to the sign-in page, too
            await page.fill("#destination_url", "http://typed")
        await page.context.clear_cookies()  # the session ends
        await page.get_by_role("button", name="Create link").click()
        await page.wait_for_url(re.compile("/login"))
        await page.context.add_cookies(cookies)
        await page.goto(path)
        await expect(page.locator("#destination_url")).to_have_value(destination)
