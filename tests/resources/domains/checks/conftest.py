from collections.abc import AsyncIterator

import pytest
from resources.domains.checks.checking import Checking, open_checking
from resources.domains.room import Room


@pytest.fixture
async def checking(room: Room) -> AsyncIterator[Checking]:
    async with open_checking(room) as opened:
        yield opened
