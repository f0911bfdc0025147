import pytest_asyncio
from browser.watching import _running, shared_chromium
from playwright.async_api import Browser

__all__ = ["_running", "shared_chromium"]


@pytest_asyncio.fixture(loop_scope="session")
async def chromium(shared_chromium: Browser) -> Browser:
    return shared_chromium
