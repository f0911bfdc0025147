from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from conftest import PostgresServer

from waypost.database import Database


@pytest.fixture
async def empty_database(postgres: PostgresServer) -> AsyncIterator[Database]:
    name = f"test_{uuid4().hex}"
    postgres.sql(f"CREATE DATABASE {name}")
    database = Database(postgres.url(name))
    yield database
    await database.close()
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")
