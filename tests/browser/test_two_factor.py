"""Two-factor authentication in a real browser, with the codes of another implementation."""

import time
from base64 import b32decode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from browser.test_accounts import PASSWORD, device, sign_in_was_long_ago, signed_up, somebody
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from journeys.service import Service
from playwright.async_api import Browser, Page, expect

from bench.qr_readers import ImageFile, read_by_zbar

ADA = "ada@example.com"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """At a name: browsers make no passkeys for addresses."""
    made = Service(tmp_path_factory.mktemp("service"))
    made.base_url = f"http://localhost:{made.port}"
    made.environment["WAYPOST_BASE_URL"] = made.base_url
    made.client.base_url = made.base_url
    with made as running:
        yield running


class Phone:
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
    ada = await somebody(chromium, service)
    page = ada.page
    await signed_up(ada, ADA)
    await page.goto("/account/security")
    await page.get_by_role("link", name="Set up").click()
    await page.get_by_role("button", name="Show QR code").click()
    [scanned] = read_by_zbar([ImageFile(await page.get_by_alt_text("QR code").screenshot())], tmp_path)
    phone = Phone(scanned.pop().removeprefix("QR-Code:"))
    assert phone.label == "/Waypost (localhost):ada@example.com"
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
    assert ada.trouble == []

    assert service.json("account", "remove-second-factor", ADA) == {"email": ADA, "second_factor": False}
    await page.goto("/links")
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await page.get_by_label("Email").fill(ADA)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("heading", name="Links", exact=True)).to_be_visible()


async def sign_out_and_send_password(page: Page) -> None:
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_label("Email").fill(ADA)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()


async def test_an_account_that_requires_passkeys_opens_with_one(chromium: Browser, service: Service) -> None:
    bob = await somebody(chromium, service)
    page = bob.page
    await signed_up(bob, "bob@example.com")
    await device(bob, knows_person=True)
    await page.goto("/account/security")
    await page.get_by_role("button", name="Add passkey").click()
    await expect(page.get_by_text("Passkey added.")).to_be_visible()
    await page.get_by_role("link", name="sign-in rules").click()
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
    await page.get_by_label("Email").fill("bob@example.com")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("heading", name="Use a passkey")).to_be_visible()
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
