"""A role that may not have pg_trgm gets all but the one index; its searches read each link."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from conftest import PostgresServer
from sqlalchemy import text

from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.database.schema import newest

INDEX = text("SELECT count(*) FROM pg_indexes WHERE indexname = 'ix_links_trigrams'")


@pytest.fixture
def plain(postgres: PostgresServer) -> Iterator[str]:
    """The URL of a database whose tables somebody may make who may nothing else."""
    name = f"plain_{uuid4().hex}"
    postgres.sql(f"CREATE ROLE {name} LOGIN")
    postgres.sql(f"CREATE DATABASE {name}")
    postgres.sql(f"GRANT CREATE ON SCHEMA public TO {name}", database=name)
    yield postgres.url(name).replace("postgres@", f"{name}@", 1)
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")
    postgres.sql(f"DROP ROLE {name}")


async def no_index_after_migrating(url: str) -> None:
    db = Database(url)
    assert (await migrate(db))[1] == newest()
    async with db.read() as tx:
        assert await tx.scalar(INDEX) == 0
    await db.close()


async def test_without_the_right_to_it(plain: str, capsys: pytest.CaptureFixture[str]) -> None:
    await no_index_after_migrating(plain)
    assert "pg_trgm_missing" in capsys.readouterr().out


async def test_in_a_schema_where_nobody_looks_for_it(postgres: PostgresServer, plain: str) -> None:
    name = plain.partition("@/")[2].partition("?")[0]
    postgres.sql("CREATE SCHEMA aside", database=name)
    postgres.sql("CREATE EXTENSION pg_trgm SCHEMA aside", database=name)
    await no_index_after_migrating(plain)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_with_it(db: Database) -> None:
    async with db.read() as tx:
        assert await tx.scalar(INDEX) == 1
