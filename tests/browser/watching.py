"""A real Chromium, and what a page does in it that a page of ours never should."""

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
_LISTEN = """
window.violations = []
addEventListener("securitypolicyviolation", event => violations.push(`${event.violatedDirective} ${event.blockedURI}`))
"""


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    async with launched("--no-sandbox") as browser:
        yield browser


LOOP = pytest.mark.asyncio(loop_scope="session")


@asynccontextmanager
async def launched(*arguments: str, env: Mapping[str, str] | None = None) -> AsyncIterator[Browser]:
    path = shutil.which("chromium-headless-shell")
    assert path, "Chromium is missing: apt-get install chromium-headless-shell (make test does it as root)"
    expect.set_options(timeout=240_000)  # milliseconds; only a broken page makes anybody wait that long
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=arguments, env=env)
        yield browser
        await browser.close()


@dataclass
class Watched:
    """A page whose steps are noted: what it loads, what it logs, what its policy refuses, what it runs."""

    page: Page
    loaded: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)

    async def visit(self, url: str) -> None:
        self.loaded.clear()
        self.trouble.clear()
        await self.page.goto(url)
        self.trouble += await self.page.evaluate("violations")
        if await self.page.evaluate("'harmed' in window"):
            self.trouble.append("a script ran")


async def watched(chromium: Browser, **context: object) -> Watched:
    """`context`: options of Playwright's `new_context`."""
    page = await (await chromium.new_context(**context)).new_page()
    await page.add_init_script(_LISTEN)
    watch = Watched(page)
    page.on("request", lambda request: watch.loaded.append(request.url))
    page.on("console", lambda message: watch.trouble.append(message.text))
    page.on("pageerror", lambda error: watch.trouble.append(str(error)))
    page.on("dialog", lambda dialog: watch.trouble.append(dialog.message))
    page.on("download", lambda download: watch.trouble.append(download.url))
    return watch
