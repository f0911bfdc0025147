from collections.abc import AsyncIterator, Iterator

import pytest
from resources.pixels.events.platforms import Platforms
from resources.pixels.events.sent import Room, open_room

from waypost.database import Database


@pytest.fixture
def platforms() -> Iterator[Platforms]:
    with Platforms() as running:
        yield running


@pytest.fixture
async def room(db: Database, platforms: Platforms) -> AsyncIterator[Room]:
    async with open_room(db, platforms) as opened:
        yield opened
