from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path

import pytest
from browsing import WebApp, open_place
from resources.links.env import HOST, Env, Website, open_env

from waypost.database import Database


@pytest.fixture
async def env(db: Database, tmp_path: Path) -> AsyncIterator[Env]:
    async with open_env(db, tmp_path) as opened:
        yield opened


@pytest.fixture
async def site() -> AsyncIterator[Website]:
    async with Website().open() as opened:
        yield opened


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path, outbound_allow=[ip_network(HOST)]) as opened:
        yield opened
