from collections.abc import AsyncIterator, Iterator

import pytest
from resources.pixels.events.platforms import Platforms
from resources.pixels.events.sent import Env, open_env

from waypost.database import Database


@pytest.fixture
def platforms() -> Iterator[Platforms]:
    with Platforms() as running:
        yield running


@pytest.fixture
async def env(db: Database, platforms: Platforms) -> AsyncIterator[Env]:
    async with open_env(db, platforms) as opened:
        yield opened
