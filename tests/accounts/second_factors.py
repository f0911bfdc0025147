"""People with a second factor, over the pages."""

import re
from html import unescape

import httpx
from browsing import BASE_URL, Browser, WebApp
from people import FakeClock
from sqlalchemy import select

from waypost import accounts
from waypost.accounts.second_factor import totp
from waypost.worker.jobs import jobs

PASSWORD, OTHER = "four plain words suffice", "five other words are fine"
ADA = "ada@example.com"
PATH = "/account/two-factor"
NO_FIELDS = {"current_password": ""}
"""A form says what it is, also without fields."""


class Phone:
    """An authenticator app."""

    def __init__(self, secret: str, recovery_codes: list[str], clock: FakeClock) -> None:
        self.secret = secret
        self.recovery_codes = recovery_codes
        self.clock = clock

    def code(self, *, steps: int = 0) -> str:
        return totp.code_of(self.secret, totp.step_at(self.clock()) + steps)

    def next_code(self) -> str:
        """A code that was not used yet."""
        self.clock.move(totp.STEP)
        return self.code()

    def wrong_code(self) -> str:
        around = {self.code(steps=steps) for steps in (-1, 0, 1)}
        return next(code for code in ("000000", "000001", "000002", "000003") if code not in around)


async def signed_up(place: WebApp, email: str = ADA) -> Browser:
    ada = await place.browser()
    answer = await ada.post("/signup", {"name": "Ada", "email": email, "password": PASSWORD})
    assert answer.status_code == 303
    ada.account, ada.person = await accounts.get_account(place.db, email), await accounts.get_person(place.db, email)
    return ada


async def set_up(place: WebApp, ada: Browser) -> Phone:
    """Set up a second factor. The code of the current time step is used then."""
    page = (await ada.post(PATH, NO_FIELDS)).text
    phone = Phone(secret_of(page), [], place.clock)
    done = await ada.post(f"{PATH}/confirm", {"setup": sealed_of(page), "code": phone.code()})
    assert done.status_code == 200, done.text
    phone.recovery_codes = codes_of(done.text)
    return phone


def secret_of(page: str) -> str:
    match = re.search(r'<code class="wrap" id="secret">([A-Z2-7 ]+)</code>', page)
    assert match, page
    return match[1].replace(" ", "")


def sealed_of(page: str) -> str:
    match = re.search(r'name="setup" value="([^"]+)"', page)
    assert match
    return unescape(match[1])


def codes_of(page: str) -> list[str]:
    return re.findall(r"<li><code>([a-z2-7-]{27})</code></li>", page)


async def attacker(place: WebApp, n: int) -> Browser:
    """A browser at an IP address of its own, which knows the password."""
    transport = httpx.ASGITransport(place.site, client=(f"203.0.113.{n}", 1))
    client = await place.stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url=BASE_URL))
    browser = Browser(client, None)
    await send_password(browser)
    return browser


async def send_password(browser: Browser, password: str = PASSWORD, email: str = ADA) -> None:
    answer = await browser.post("/login", {"email": email, "password": password})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login/code?next=/")


async def is_signed_in(browser: Browser) -> bool:
    return (await browser.get("/account")).status_code == 200


async def subjects(place: WebApp) -> list[str]:
    """Of the emails that were queued."""
    async with place.db.read() as tx:
        payloads = (await tx.execute(select(jobs.c.payload).where(jobs.c.name == "mail.send"))).scalars()
        return [payload["subject"] for payload in payloads]
