"""The first hour of somebody who has just started the service: nothing but a browser, its log and its file."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from forked import APP
from journeys import clockwork
from journeys.service import Service
from journeys.test_two_instances import First
from playwright.async_api import Browser, Page, expect

from browser.test_accounts import PASSWORD, somebody
from waypost.accounts.setup.first_start import PLACEHOLDER


async def fill(page: Page, **fields: str) -> None:
    for label, text in {"email": "ada@example.com", "password": PASSWORD, **fields}.items():
        await page.get_by_label(label.capitalize()).fill(text)
    await page.get_by_role("button", name="Save and continue").click()


async def sign_in_again(page: Page) -> None:
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_label("Email").fill("ada@example.com")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()


async def test_a_service_that_others_reach_is_set_up_with_the_code_in_its_log(
    chromium: Browser, tmp_path: Path
) -> None:
    with First(tmp_path, options=("--host", "0.0.0.0")) as service:
        code = service.log.wait_for("/setup?code=").strip().rpartition("=")[2]
        ada = await somebody(chromium, service)
        await ada.page.goto("/links")
        await expect(ada.page.get_by_role("heading", name="Set up Waypost")).to_be_visible()
        await fill(ada.page, code="AAAAA-AAAAA-AAAAA-AAAAA")
        await expect(ada.page.get_by_text("This code is incorrect.")).to_be_visible()
        await fill(ada.page, code=code.lower())
        await expect(ada.page.get_by_role("heading", name="Overview")).to_be_visible()
        await expect(ada.page.get_by_role("link", name="ada", exact=True)).to_be_visible()
        await sign_in_again(ada.page)
        assert [entry for entry in ada.trouble if "422" not in entry] == []
        assert [account["email"] for account in service.json("account", "list")] == ["ada@example.com"]


async def test_the_first_sign_in_link_leads_to_the_form(chromium: Browser, tmp_path: Path) -> None:
    with First(tmp_path) as service:
        service.log.wait_for("first-start.txt")
        written = (tmp_path / "data" / "first-start.txt").read_text()
        [link] = re.findall(r"http\S+/enter/\S+", written)
        ada = await somebody(chromium, service)
        await ada.page.goto(link)
        await ada.page.get_by_role("button", name="Sign in").click()
        await expect(ada.page.get_by_label("code")).to_have_count(0)
        await fill(ada.page, name="Ada")
        await expect(ada.page.get_by_role("link", name="Ada", exact=True)).to_be_visible()
        await sign_in_again(ada.page)
        assert ada.trouble == []
        assert service.client.get("/setup").headers["location"] == "/login?done=setup"


async def test_a_password_is_set_fifteen_minutes_after_the_sign_in_link(chromium: Browser, tmp_path: Path) -> None:
    began = datetime.now(UTC)
    clock = clockwork.Clock.new(tmp_path / "clock", began)
    settings = {APP: "journeys.clockwork", clockwork.FILE: str(tmp_path / "clock")}
    with First(tmp_path, **settings) as service:
        ada = await somebody(chromium, service)
        await ada.page.goto(link_of(service))
        await ada.page.get_by_role("button", name="Sign in").click()
        await ada.page.get_by_role("link", name="Skip for now").click()
        clock.set(began + timedelta(minutes=15))
        await ada.page.goto("/account/security")
        await ada.page.get_by_label("New password").fill(PASSWORD)
        await ada.page.get_by_role("button", name="Set password").click()
        await expect(ada.page.get_by_text("Password changed.")).to_be_visible()
        assert ada.trouble == []


async def test_on_this_machine_nothing_is_asked_but_who_signs_in(chromium: Browser, tmp_path: Path) -> None:
    with First(tmp_path) as service:
        ada = await somebody(chromium, service)
        await ada.page.goto("/")
        await expect(ada.page.get_by_label("code")).to_have_count(0)
        await fill(ada.page)
        await expect(ada.page.get_by_role("heading", name="Overview")).to_be_visible()
        assert ada.trouble == []


def link_of(service: Service) -> str:
    link: str = service.json("account", "sign-in-link", PLACEHOLDER)["url"]
    return link
