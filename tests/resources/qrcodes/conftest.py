from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from resources.qrcodes.codes_env import Env, open_env

from waypost.database import Database


@pytest.fixture
async def env(db: Database, tmp_path: Path) -> AsyncIterator[Env]:
    async with open_env(db, tmp_path) as opened:
        yield opened
