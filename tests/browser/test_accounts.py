"""Signing in with a passkey and with codes, in a real browser with a device that is only made up."""

import sqlite3
import time
from base64 import b32decode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from journeys.service import Service
from playwright.async_api import Browser, CDPSession, Page, expect

from bench.qr_readers import ImageFile, read_by_zbar
from browser.watching import Watched, watched

PATIENCE = 240_000  # milliseconds; only a broken service makes anybody wait that long
PASSWORD = "four plain words suffice"
GRACE = "grace@example.com"


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
    ada = await somebody(chromium, service, timezone_id="Asia/Tokyo")
    page = ada.page
    await signed_up(ada, "ada@example.com")
    await expect(page.locator("main footer")).to_have_text("Times in Asia/Tokyo · Change")
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
    await expect(page.locator("tbody").get_by_text("Passkey added")).to_be_visible()
    await expect(page.locator("tbody tr").first).to_contain_text("Signed in")
    await expect(page.locator("tbody tr").first).to_contain_text("passkey")
    await page.goto("/account/security")

    sign_in_was_long_ago(service)
    await page.get_by_role("link", name="Remove").click()
    await page.get_by_role("button", name="Remove passkey").click()
    await expect(page.get_by_text("The password is not enough for this change.")).to_be_visible()
    await page.get_by_role("link", name="Confirm it's you").click()
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


class Phone:
    """An authenticator app of another implementation."""

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        self.label = unquote(parts.path)
        self.secret = parse_qs(parts.query)["secret"][0]
        self._totp = TOTP(b32decode(self.secret), 6, SHA1(), 30)
        self._steps_ahead = -1

    def code(self) -> str:
        """A code that was not used, without waiting: one step early is accepted."""
        self._steps_ahead += 1
        return self._totp.generate(int(time.time()) + 30 * min(self._steps_ahead, 1)).decode()


async def test_sets_up_an_app_and_signs_in_with_its_codes(chromium: Browser, service: Service, tmp_path: Path) -> None:
    grace = await somebody(chromium, service)
    page = grace.page
    await signed_up(grace, GRACE)
    await page.goto("/account/security")
    await page.get_by_role("link", name="Set up").click()
    await page.get_by_role("button", name="Show QR code").click()
    [scanned] = read_by_zbar([ImageFile(await page.get_by_alt_text("QR code").screenshot())], tmp_path)
    phone = Phone(scanned.pop().removeprefix("QR-Code:"))
    assert phone.label == "/Waypost (localhost):grace@example.com"
    assert phone.secret == (await page.locator("#secret").inner_text()).replace(" ", "")
    await page.get_by_label("Code").fill(phone.code())
    await page.get_by_role("button", name="Turn on").click()
    codes = await page.locator(".codes code").all_inner_texts()
    assert len(codes) == 10
    await page.get_by_role("link", name="I saved the codes").click()
    await expect(page.get_by_text("10 recovery codes left")).to_be_visible()

    await sign_out_and_send_password(page)
    await page.get_by_label("Code").fill(phone.code())
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    await sign_out_and_send_password(page)
    await page.get_by_role("link", name="Use a recovery code").click()
    await page.get_by_label("Recovery code").fill(codes[4])
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()

    sign_in_was_long_ago(service)
    await page.goto("/integrations/api/new")
    await page.get_by_role("link", name="Confirm it's you").click()
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_label("Code").fill(codes[5])
    await page.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_role("heading", name="Create API key")).to_be_visible()
    assert await page.evaluate("violations") == []
    assert grace.trouble == []

    assert service.json("account", "remove-second-factor", GRACE) == {"email": GRACE, "second_factor": False}
    await page.goto("/links")
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await page.get_by_label("Email").fill(GRACE)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("heading", name="Links", exact=True)).to_be_visible()


async def sign_out_and_send_password(page: Page) -> None:
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_label("Email").fill(GRACE)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()


async def test_an_account_that_requires_passkeys_opens_with_one(chromium: Browser, service: Service) -> None:
    alan = await somebody(chromium, service)
    page = alan.page
    await signed_up(alan, "alan@example.com")
    await device(alan, knows_person=True)
    await page.goto("/account/security")
    await page.get_by_role("button", name="Add passkey").click()
    await expect(page.get_by_text("Passkey added.")).to_be_visible()
    await page.goto("/account/settings")
    await page.get_by_role("link", name="Change sign-in rules").click()
    await page.get_by_role("radio", name="Passkeys only").check()
    await page.get_by_role("button", name="Save changes").click()
    await expect(page.get_by_text("Sign in with a passkey yourself first.")).to_be_visible()

    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    await page.goto("/account/sign-in-rules")
    await page.get_by_role("radio", name="Passkeys only").check()
    await page.get_by_role("button", name="Save changes").click()
    await expect(page.get_by_text("Sign-in rules changed.")).to_be_visible()

    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_label("Email").fill("alan@example.com")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("heading", name="Use a passkey")).to_be_visible()
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
