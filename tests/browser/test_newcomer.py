"""Somebody new, from sign-up to a webhook, in a real browser: no call, command or setting helps them along."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import zxingcpp
from journeys.service import Service, Website
from PIL import Image
from playwright.async_api import Browser, Page, expect
from resources.pixels.events.platforms import IDS
from resources.webhooks.receiver import Receiver

from bench.platforms import Platforms as Hosts
from browser.test_accounts import signed_up
from browser.test_dashboard_resources import PATIENCE, download
from browser.watching import Watched, watched

PERSON = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    with Receiver(tmp_path) as running:
        yield running


@pytest.fixture
def service(tmp_path: Path, receiver: Receiver) -> Iterator[Service]:
    with Service(tmp_path, WAYPOST_OUTBOUND_CA_FILE=str(receiver.ca_file)) as running:
        yield running


@pytest.fixture
def website() -> Iterator[Website]:
    with Website() as site:
        yield site


@pytest.fixture
def hosts(ad_platforms: Hosts) -> Hosts:
    """Where the browser finds the platforms; `platforms` are their endpoints for servers."""
    return ad_platforms


async def test_new_person_gets_from_sign_up_to_a_webhook(
    chromium: Browser, hosts: Hosts, service: Service, website: Website, receiver: Receiver, tmp_path: Path
) -> None:
    ada = await watched(chromium, base_url=service.base_url)
    ada.page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    await signed_up(ada, "ada@example.com")
    await add_pixel(ada.page)
    await make_link(ada.page, website)
    await see_a_click(ada.page, chromium, hosts, service, website)
    await print_a_code(ada.page, service, tmp_path)
    await add_domain(ada.page)
    key = await make_key(ada.page)
    await asyncio.to_thread(create_link, service, website, key, "by-key")
    await follow_a_delivery(ada.page, service, website, receiver, key)
    await ada.page.goto("/links")
    await expect(ada.page.locator("ul.links .short")).to_have_text([re.compile(f"/{slug}$") for slug in NEWEST_FIRST])
    assert_undisturbed(ada, service)


NEWEST_FIRST = ("reported", "by-key", "spring")


async def add_pixel(page: Page) -> None:
    await page.get_by_role("link", name="Pixels").click()
    await page.get_by_role("link", name="Add pixel").first.click()
    await page.get_by_label("Facebook").check()
    await page.get_by_label("Name").fill("Spring shoppers")
    await page.get_by_label("Pixel ID").fill(IDS["facebook"])
    await page.get_by_role("button", name="Add pixel").click()
    await expect(page.get_by_text("No link uses this pixel yet.")).to_be_visible()


async def make_link(page: Page, website: Website) -> None:
    """Ends on the link's own page."""
    await page.get_by_role("link", name="Links", exact=True).click()
    await page.get_by_role("link", name="Create link").last.click()
    await page.get_by_label("Destination").fill(website.url)
    await page.get_by_label("Slug").fill("spring")
    await page.get_by_label("Tags").fill("sale, spring")
    await page.get_by_text("Campaign parameters (UTM)").click()
    await page.get_by_label("Source").fill("newsletter")
    await expect(page.locator("#destination-with-utm")).to_have_text(f"{website.url}/?utm_source=newsletter")
    await page.locator("summary", has_text="Pixels").click()
    await page.get_by_label("Spring shoppers").check()
    await page.get_by_role("button", name="Create link").click()
    await expect(page.get_by_text("Link created.")).to_be_visible()
    await expect(page.get_by_text("No clicks yet.")).to_be_visible()
    await expect(page.locator("[data-live-badge]")).to_be_visible()


async def see_a_click(page: Page, chromium: Browser, hosts: Hosts, service: Service, website: Website) -> None:
    """Of somebody else, whose browser fires the pixel on the way."""
    bob = await watched(chromium, user_agent=PERSON)
    await bob.page.add_init_script("window.setTimeout = () => 0")  # waits for the tags and not for the clock
    await bob.page.goto(f"{service.base_url}/spring", wait_until="commit")
    await bob.page.wait_for_url(f"{website.url}/?utm_source=newsletter")
    assert [fired[:3] for fired in hosts.fired()] == [("facebook", IDS["facebook"], "PageView")]
    await expect(page.locator("#clicks tr")).to_have_count(1)
    await expect(page.locator("#clicks tr")).to_contain_text("Desktop, Chrome, Linux")
    await expect(page.locator("#numbers dd").first).to_contain_text("1")
    assert bob.trouble == []
    await bob.page.context.close()


async def print_a_code(page: Page, service: Service, directory: Path) -> None:
    await page.get_by_role("navigation", name="This link").get_by_role("link", name="QR code").click()
    await page.get_by_label("Fluid").check()
    await page.get_by_label("Foreground", exact=True).fill("#1d3557")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Changes saved.")).to_be_visible()
    await expect(page.get_by_label("Fluid")).to_be_checked()
    picture = Image.open(await download(page, "Download PNG", directory / "code.png"))
    assert (0x1D, 0x35, 0x57) in {color for _, color in picture.convert("RGB").getcolors(1 << 24)}
    (code,) = zxingcpp.read_barcodes(picture.convert("L"))
    assert code.text == f"{service.base_url}/spring?r=qr"


async def add_domain(page: Page) -> None:
    await page.get_by_role("link", name="Domains").click()
    await page.get_by_role("textbox", name="Domain").fill("go.brand.example.com")
    await page.get_by_role("button", name="Add domain").click()
    await expect(page.get_by_text("Add the TXT record below")).to_be_visible()
    await expect(page.get_by_text("_waypost.go.brand.example.com", exact=True)).to_be_visible()


async def make_key(page: Page) -> str:
    await page.get_by_role("link", name="API", exact=True).click()
    await page.get_by_role("link", name="Create your first key").click()
    await page.get_by_label("Name").fill("Shop")
    await page.locator("[value='links:write']").check()
    await page.get_by_role("button", name="Create key").click()
    key = await page.inner_text("#key")
    await page.get_by_role("link", name="Done").click()
    await expect(page.get_by_role("link", name="Shop", exact=True)).to_be_visible()
    assert key not in await page.content()
    return key


def create_link(service: Service, website: Website, key: str, slug: str) -> None:
    answer = httpx.post(
        f"{service.base_url}/api/v1/links",
        json={"slug": slug, "destination_url": website.url},
        headers={"Authorization": f"Bearer {key}"},
        timeout=PATIENCE,
        trust_env=False,
    )
    assert answer.status_code == 201, answer.text


async def follow_a_delivery(page: Page, service: Service, website: Website, receiver: Receiver, key: str) -> None:
    await page.get_by_role("link", name="Webhooks").click()
    await page.get_by_role("link", name="Add webhook").first.click()
    await page.get_by_label("URL").fill(receiver.url("/hook"))
    await page.get_by_label("link.created").check()
    await page.get_by_role("button", name="Add webhook").click()
    secret = await page.inner_text("#secret")
    await asyncio.to_thread(create_link, service, website, key, "reported")
    await asyncio.to_thread(receiver.wait_for, "/hook", 1)
    await page.get_by_role("link", name="Done").click()
    await page.locator("#deliveries").get_by_role("link", name="link.created").click()
    await expect(page.locator("#attempts")).to_contain_text("Delivered")
    await page.get_by_role("button", name="Redeliver").click()
    first, second = await asyncio.to_thread(receiver.wait_for, "/hook", 2)
    assert (first.envelope["event"], first.envelope["data"]["slug"], first.body) == (
        "link.created",
        "reported",
        second.body,
    )
    assert (first.is_signed_with(secret), second.is_signed_with(secret)) == (True, True)
    await expect(page.locator("#attempts")).to_contain_text("Delivered")
    await expect(page.locator("#attempts")).to_contain_text("200")


def assert_undisturbed(ada: Watched, service: Service) -> None:
    """Nothing was logged, no policy was hurt, which a browser logs, and nobody else was asked for anything."""
    (downloaded,) = [each for each in ada.trouble if "/image/png" in each]
    assert ada.trouble == [downloaded]
    assert [url for url in ada.loaded if not url.startswith((f"{service.base_url}/", "blob:", "data:"))] == []
