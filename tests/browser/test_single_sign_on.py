"""Single sign-on with a certified provider, in a real browser and with real processes."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from architecture.code import ROOT
from journeys.service import OWNER, Service
from playwright.async_api import Browser, Page, expect

from browser.test_access import AXE, IS_TOO_WIDE, NARROW, WIDE, look

PROVIDER = ROOT / "tests" / "certified_provider"
PATIENCE = 240_000  # milliseconds


@dataclass
class Office:
    service: Service
    issuer: str
    file: Path
    """The provider's clients and users."""

    def set_user(self, name: str, *groups: str) -> None:
        read: dict[str, Any] = json.loads(self.file.read_text())
        user = {"email": f"{name}@example.com", "email_verified": True, "name": name, "groups": groups}
        self.file.write_text(json.dumps({**read, "users": {name: user}}))

    async def page(self, chromium: Browser) -> Page:
        page = await (await chromium.new_context(base_url=self.service.base_url, viewport=WIDE)).new_page()
        page.set_default_timeout(PATIENCE)
        return page

    async def look(self, page: Page) -> None:
        """Nothing hinders anybody, and nothing is wider than a phone."""
        await page.set_viewport_size(NARROW)
        await page.evaluate(AXE)
        assert await look(page) == []
        assert not await page.evaluate(IS_TOO_WIDE)
        await page.set_viewport_size(WIDE)

    async def sign_in(self, page: Page, name: str) -> None:
        await page.goto("/login?next=/links")
        await page.get_by_role("link", name="Sign in with single sign-on").click()
        await page.get_by_placeholder("Enter any login").fill(name)
        await page.get_by_placeholder("and password").fill("any")
        await page.get_by_role("button", name="Sign-in").click()


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    assert (PROVIDER / "node_modules").is_dir(), "the provider is missing: make test installs it"
    directory = tmp_path_factory.mktemp("office")
    service, file = Service(directory), directory / "provider.json"
    client = {
        "client_id": "waypost",
        "client_secret": "a secret of the tests",
        "redirect_uris": [f"{service.base_url}/login/oidc/callback"],
        "post_logout_redirect_uris": [f"{service.base_url}/login"],
        "backchannel_logout_uri": f"{service.base_url}/login/oidc/logout",
        "backchannel_logout_session_required": True,
    }
    file.write_text(json.dumps({"clients": [client]}))
    command = ["node", str(PROVIDER / "server.mjs"), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as provider:
        try:
            assert provider.stdout
            issuer = provider.stdout.readline().strip()
            service.environment |= {
                "WAYPOST_OIDC_ISSUER": issuer,
                "WAYPOST_OIDC_CLIENT_ID": client["client_id"],
                "WAYPOST_OIDC_CLIENT_SECRET": client["client_secret"],
                "WAYPOST_OIDC_ROLES": "marketing=editor, it=admin",
                "WAYPOST_OIDC_ACCOUNT": OWNER,
            }
            with service:
                yield Office(service, issuer, file)
        finally:
            provider.kill()


async def test_somebody_who_is_here_already_connects(office: Office, chromium: Browser) -> None:
    office.set_user("owner", "it")
    page = await office.page(chromium)
    await page.goto("/login")
    await office.look(page)
    await office.sign_in(page, "owner")
    await expect(page.get_by_text("already has an account")).to_be_visible()
    await office.look(page)
    await page.goto(office.service.command("account", "sign-in-link", OWNER).split()[-1])
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Connect single sign-on")).to_be_visible()
    await office.look(page)
    await page.get_by_role("button", name="Connect").click()
    await expect(page.get_by_text(f"Connected as {OWNER}")).to_be_visible()
    await office.look(page)

    other = await office.page(chromium)
    await office.sign_in(other, "owner")
    await expect(other).to_have_url(f"{office.service.base_url}/links")


async def test_signs_in_and_out_at_a_certified_provider(office: Office, chromium: Browser) -> None:
    office.set_user("ann", "marketing")
    page = await office.page(chromium)
    await office.sign_in(page, "ann")
    await expect(page).to_have_url(f"{office.service.base_url}/links")
    refused = await page.goto("/pixels/new")
    assert refused
    assert refused.status == 403  # an editor
    await page.goto("/account/security")
    await expect(page.get_by_text("Connected as ann@example.com")).to_be_visible()

    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_role("button", name="Yes, sign me out").click()
    await expect(page).to_have_url(f"{office.service.base_url}/login")

    office.set_user("ann", "marketing", "it")
    await office.sign_in(page, "ann")
    await expect(page).to_have_url(f"{office.service.base_url}/links")
    allowed = await page.goto("/pixels/new")
    assert allowed
    assert allowed.status == 200  # an admin

    await page.goto(f"{office.issuer}/session/end")  # which sends a logout token before it answers
    await page.get_by_role("button", name="Yes, sign me out").click()
    await page.wait_for_url("**/session/end/success")
    await page.goto("/links")
    await expect(page).to_have_url(f"{office.service.base_url}/login?next=/links")

    office.set_user("ann", "others")
    await office.sign_in(page, "ann")
    await expect(page.get_by_text("None of your groups may use this service.")).to_be_visible()
    await office.look(page)
