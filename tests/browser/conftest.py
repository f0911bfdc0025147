"""One browser, and for tests that change no settings one service, for all tests of a process: each start takes seconds.

All tests run in the session's event loop, which the browser belongs to.
"""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from journeys.service import Service
from playwright.async_api import Browser
from resources.webhooks.receiver import Receiver

from bench.platforms import Platforms
from bench.platforms import platforms as scripted
from browser.watching import LOOP, launched


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(LOOP, append=False)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def _ad_platforms() -> AsyncIterator[Platforms]:
    async with scripted() as running:
        yield running


@pytest.fixture
def ad_platforms(_ad_platforms: Platforms) -> Platforms:
    """Where the browser finds the platforms' scripts, and the host destination.test."""
    _ad_platforms.reset()
    return _ad_platforms


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def _running(_ad_platforms: Platforms) -> AsyncIterator[Browser]:
    async with launched(*_ad_platforms.arguments) as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def chromium(_running: Browser) -> AsyncIterator[Browser]:
    """Nothing of a test remains in it: cookies and caches belong to a context."""
    yield _running
    for context in _running.contexts:
        await context.close()


@pytest.fixture(scope="package")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """Each test uses a path of its own."""
    with Receiver(tmp_path_factory.mktemp("receiver")) as running:
        yield running


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[Service]:
    """Tests leave nothing behind that another could see, or have a service of their own."""
    with Service(tmp_path_factory.mktemp("service"), WAYPOST_OUTBOUND_CA_FILE=str(receiver.ca_file)) as running:
        yield running
