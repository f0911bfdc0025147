"""Without pg_trgm, the migration creates everything but the trigram index."""

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
    """The URL of a database for a role that may only create tables."""
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


async def test_logs_that_the_role_may_not_create_pg_trgm(plain: str, capsys: pytest.CaptureFixture[str]) -> None:
    await no_index_after_migrating(plain)
    assert "pg_trgm_missing" in capsys.readouterr().out


async def test_ignores_pg_trgm_outside_the_search_path(postgres: PostgresServer, plain: str) -> None:
    name = plain.partition("@/")[2].partition("?")[0]
    postgres.sql("CREATE SCHEMA aside", database=name)
    postgres.sql("CREATE EXTENSION pg_trgm SCHEMA aside", database=name)
    await no_index_after_migrating(plain)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_creates_the_trigram_index(db: Database) -> None:
    async with db.read() as tx:
        assert await tx.scalar(INDEX) == 1
