"""Signing in with a passkey, in a real browser with a device that is only made up."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from browser.watching import Watched, watched
from journeys.service import Service
from playwright.async_api import Browser, CDPSession, expect

PATIENCE = 30_000  # milliseconds; only a broken service makes anybody wait that long
PASSWORD = "four plain words suffice"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """At a name: browsers make no passkeys for addresses."""
    made = Service(tmp_path_factory.mktemp("service"))
    made.base_url = f"http://localhost:{made.port}"
    made.environment["WAYPOST_BASE_URL"] = made.base_url
    made.client.base_url = made.base_url
    with made as running:
        yield running


async def somebody(chromium: Browser, service: Service, **context: object) -> Watched:
    browser = await watched(chromium, base_url=service.base_url, **context)
    browser.page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    return browser


async def signed_up(browser: Watched, email: str) -> None:
    page = browser.page
    await page.goto("/signup")
    await page.get_by_label("Email").fill(email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Create account").click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()


async def device(browser: Watched, *, knows_person: bool) -> CDPSession:
    """A passkey device in the browser; `knows_person`: whether its fingerprint reader does."""
    cdp = await browser.page.context.new_cdp_session(browser.page)
    await cdp.send("WebAuthn.enable")
    kind = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    kind |= {"isUserVerified": knows_person, "automaticPresenceSimulation": True}
    await cdp.send("WebAuthn.addVirtualAuthenticator", {"options": kind})
    return cdp


async def test_a_passkey_is_made_used_and_removed(chromium: Browser, service: Service) -> None:
    ada = await somebody(chromium, service)
    page = ada.page
    await signed_up(ada, "ada@example.com")
    await device(ada, knows_person=True)
    await page.goto("/account/security")
    await page.get_by_label("Passkey name").fill("Ada's <b>laptop</b>")
    await page.get_by_role("button", name="Add passkey").click()
    await expect(page.get_by_text("Passkey added.")).to_be_visible()
    await expect(page.get_by_role("strong")).to_have_text("Ada's <b>laptop</b>")

    await page.get_by_role("button", name="Sign out").click()
    await page.goto("/login?next=/account/security")
    async with page.expect_request("**/login/passkey") as sent:
        await page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(page.get_by_role("heading", name="Change password")).to_be_visible()
    eve = await chromium.new_context(base_url=service.base_url)
    again = await eve.request.post(
        "/login/passkey",
        headers={"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"},
        data=(await sent.value).post_data or "",
        max_redirects=0,
    )
    assert again.status == 422, "what was signed once must not let anybody in again"
    await eve.close()

    await page.goto("/account/audit")
    await expect(page.get_by_text("Passkey added")).to_be_visible()
    await expect(page.locator("tbody tr").first).to_contain_text("Signed in")
    await expect(page.locator("tbody tr").first).to_contain_text("passkey")
    await page.goto("/account/security")

    sign_in_was_long_ago(service)
    await page.get_by_role("link", name="Remove").click()
    await page.get_by_role("button", name="Remove passkey").click()
    await expect(page.get_by_text("Enter your password.")).to_be_visible()
    await page.get_by_role("link", name="use a passkey").click()
    await page.get_by_role("button", name="Confirm with a passkey").click()
    await expect(page.get_by_role("heading", name="Remove this passkey?")).to_be_visible()
    await page.get_by_role("button", name="Remove passkey").click()
    await expect(page.get_by_text("The passkey was removed, and all sessions that used it")).to_be_visible()
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(page.get_by_text("This passkey could not be used.")).to_be_visible()
    assert await page.evaluate("violations") == []


def sign_in_was_long_ago(service: Service) -> None:
    with closing(sqlite3.connect(service.directory / "data" / "waypost.db")) as db, db:
        db.execute("UPDATE sessions SET authenticated_at = authenticated_at - 3600000000")


async def test_a_device_that_does_not_know_the_person_is_refused(chromium: Browser, service: Service) -> None:
    eve = await somebody(chromium, service)
    await signed_up(eve, "eve@example.com")
    await device(eve, knows_person=False)
    await eve.page.goto("/account/security")
    await eve.page.get_by_role("button", name="Add passkey").click()
    await expect(eve.page.get_by_role("alert").filter(has_text="The passkey was not added")).to_be_visible()
    assert await eve.page.locator("text=Remove").count() == 0


async def test_without_scripts_all_but_passkeys_works(chromium: Browser, service: Service) -> None:
    bob = await somebody(chromium, service, java_script_enabled=False)
    page = bob.page
    await signed_up(bob, "bob@example.com")
    await page.goto("/account/security")
    await expect(page.get_by_text("This browser does not support passkeys, or JavaScript is disabled.")).to_be_visible()
    await page.get_by_label("Current password").fill("wrong")
    await page.get_by_label("New password").fill("short")
    await page.get_by_role("button", name="Change password").click()
    await expect(page.get_by_text("This password is incorrect.")).to_be_visible()
    sign_in_was_long_ago(service)
    await page.goto("/integrations/api/new")
    await page.get_by_label("Name").fill("Robot")
    await page.get_by_role("button", name="Create key").click()
    await expect(page.get_by_text("Enter your password.")).to_be_visible()
    await page.get_by_label("Your password").fill(PASSWORD)
    await page.get_by_role("button", name="Create key").click()
    await expect(page.get_by_text("wp_live_").first).to_be_visible()
    await page.goto("/account/delete")
    await page.get_by_role("button", name="Delete account").click()
    await expect(page.get_by_text("Your account was deleted.")).to_be_visible()
