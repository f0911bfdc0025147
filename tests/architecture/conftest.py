"""The application as `app.py` composes it, on a database of its own, and a website it may link to."""

import contextlib
import shutil
from collections.abc import AsyncIterator, Iterator
from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from architecture.dashboard import Dashboard, open_dashboard
from architecture.running import BASE_URL, RunningApp
from journeys.service import Website

from waypost.settings import Settings
from waypost.web_app import open_full_app


@pytest.fixture(scope="module")
def website() -> Iterator[Website]:
    with Website() as site:
        yield site


@pytest.fixture
async def running(tmp_path: Path, sqlite_template: Path, website: Website) -> AsyncIterator[RunningApp]:
    async with _opened(tmp_path, sqlite_template, website) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_app(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path, website: Website
) -> AsyncIterator[RunningApp]:
    """For tests that run in its loop and have accounts of their own: to compose an app takes a third of a second."""
    async with _opened(tmp_path_factory.mktemp("running"), sqlite_template, website) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def dashboard(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> AsyncIterator[Dashboard]:
    async with open_dashboard(tmp_path_factory.mktemp("dashboard"), sqlite_template) as opened:
        yield opened


@contextlib.asynccontextmanager
async def _opened(directory: Path, template: Path, website: Website) -> AsyncIterator[RunningApp]:
    shutil.copy(template, directory / "waypost.db")
    settings = Settings(
        data_dir=directory, base_url=BASE_URL, outbound_allow=[ip_network("127.0.0.0/8")], secret_key="a key"
    )
    async with open_full_app(settings) as web:
        transport = httpx.ASGITransport(web.app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
            front = web.app.app
            routes = front.dashboard.routes
            pages = [route.path for route in routes]
            forms = [route.path for route in routes if "POST" in (getattr(route, "methods", None) or ())]
            yield RunningApp(client, web.db, front.api, website, pages, forms)
