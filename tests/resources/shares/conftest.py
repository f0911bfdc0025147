"""A service with shares of statistics."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from browsing import WebApp, open_place


@pytest.fixture
async def place(database_url: str, tmp_path: Path) -> AsyncIterator[WebApp]:
    async with open_place(database_url, tmp_path) as opened:
        yield opened
