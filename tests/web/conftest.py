"""A small API, Alice with every scope, and Bob with one."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from endpoints import THINGS
from people import FakeClock, Person, new_client, new_person

from waypost.accounts import RateLimiters, open_limiters
from waypost.database import Database


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def client(db: Database, tmp_path: Path, clock: FakeClock) -> AsyncIterator[httpx.AsyncClient]:
    async with new_client(db, tmp_path, THINGS, clock=clock) as client:
        yield client


@pytest.fixture
async def limiters(db: Database, tmp_path: Path) -> AsyncIterator[RateLimiters]:
    limiters = open_limiters(db, tmp_path)
    yield limiters
    await limiters.close()


@pytest.fixture
async def alice(db: Database) -> Person:
    return await new_person(db, "alice")


@pytest.fixture
async def bob(db: Database) -> Person:
    return await new_person(db, "bob", scopes=["links:read"])
