"""The migration that remembers who verified a name, on domains that are there already."""

import importlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from alembic import command
from conftest import PostgresServer
from domains import domain
from people import START
from sqlalchemy import Connection, select

from waypost.database import Database
from waypost.database.migrations import _config, migrate
from waypost.kit.ids import new_id
from waypost.resources.domains import domains, verified_names

MIGRATION = importlib.import_module("waypost.database.migrations.versions.0024_verified_names")


def to_the_one_before(connection: Connection) -> None:
    command.upgrade(_config(connection=connection), MIGRATION.down_revision)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, postgres: PostgresServer, tmp_path: Path) -> Iterator[str]:
    """Of a database with nothing in it."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/waypost.db"
        return
    name = f"test_{uuid4().hex}"
    postgres.sql(f"CREATE DATABASE {name}")
    yield postgres.url(name)
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


async def test_names_that_were_ever_verified_are_remembered(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MIGRATION, "_AT_ONCE", 1)
    db, alice, bob = Database(url), new_id(), new_id()
    async with db.write() as tx:
        await tx.run_sync(to_the_one_before)
    await domain(db, alice, "live.test", verified_at=START)
    await domain(db, alice, "lost.test", is_live=False, verified_at=START - timedelta(days=3))
    await domain(db, alice, "never.test", is_live=False)
    await migrate(db)
    async with db.read() as tx:
        for name, is_remembered in (("live.test", True), ("lost.test", True), ("never.test", False)):
            assert await verified_names.is_of(tx, alice, name) == is_remembered
            assert await verified_names.is_of_another(tx, bob, name) == is_remembered
            assert not await verified_names.is_of_another(tx, alice, name)
        assert set(await tx.scalars(select(domains.c.needs_txt))) == {False}
    await db.close()
