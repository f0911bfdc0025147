from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from resources.qrcodes.asking import Room, open_room

from waypost.database import Database


@pytest.fixture
async def room(db: Database, tmp_path: Path) -> AsyncIterator[Room]:
    async with open_room(db, tmp_path) as opened:
        yield opened
