from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from resources.links.env import Env, open_env

from waypost.database import Database


@pytest.fixture
async def env(db: Database, tmp_path: Path) -> AsyncIterator[Env]:
    """That of links, which has pixels, too."""
    async with open_env(db, tmp_path) as opened:
        yield opened
