"""The application as `app.py` composes it, on a database of its own, and a website it may link to."""

import shutil
from collections.abc import AsyncIterator, Iterator
from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest
from house.running import BASE_URL, House
from journeys.service import Website

from waypost.app import open_web
from waypost.settings import Settings


@pytest.fixture
def website() -> Iterator[Website]:
    with Website() as site:
        yield site


@pytest.fixture
async def house(tmp_path: Path, sqlite_template: Path, website: Website) -> AsyncIterator[House]:
    shutil.copy(sqlite_template, tmp_path / "waypost.db")
    settings = Settings(
        data_dir=tmp_path, base_url=BASE_URL, outbound_allow=[ip_network("127.0.0.0/8")], secret_key="a key"
    )
    async with open_web(settings) as web:
        transport = httpx.ASGITransport(web.site)
        async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
            front = web.site.app
            pages = [route.path for route in front.dashboard.routes]
            yield House(client, web.db, front.api, website, pages)
