"""The migration that gives counters an account, beside a worker that counts."""

import asyncio
from collections.abc import Iterator
from uuid import uuid4

import pytest
from alembic import command
from conftest import PostgresServer
from people import START
from sqlalchemy import Connection, insert, select, text

from waypost.auth import create_account
from waypost.database import Database
from waypost.database.migrations import _config, migrate
from waypost.kit.ids import new_id
from waypost.resources.links.model import link_clicks, links

WAITING = "SELECT 1 FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = '{}')"


def to_the_one_before(connection: Connection) -> None:
    command.upgrade(_config(connection=connection), "0015")


@pytest.fixture
def name(postgres: PostgresServer) -> Iterator[str]:
    """Of a database with nothing in it. On SQLite, whoever counts has its turn before or after."""
    name = f"test_{uuid4().hex}"
    postgres.sql(f"CREATE DATABASE {name}")
    yield name
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


async def test_what_is_counted_meanwhile_stays_counted(postgres: PostgresServer, name: str) -> None:
    db, counting, link = Database(postgres.url(name)), Database(postgres.url(name)), new_id()
    async with db.write() as tx:
        await tx.run_sync(to_the_one_before)
    account = await create_account(db, email="a@example.com", name="", plan="lifetime", now=START, trial_days=0)
    row = {"slug": "a", "destination_url": "", "title": "", "search_text": "", "is_on": True}
    lists = {"utm_params": {}, "tags": [], "created_at": START, "updated_at": START}
    async with db.write() as tx:
        await tx.execute(insert(links).values(id=link, account_id=account.id, **row, **lists))
        await tx.execute(insert(link_clicks).values(link_id=link, clicks=10))
    async with counting.write() as tx:
        await tx.execute(text("UPDATE link_clicks SET clicks = clicks + 5"))
        migrating = asyncio.create_task(migrate(db))
        while not postgres.sql(WAITING.format(name)):
            await asyncio.sleep(0.01)
    await migrating
    async with db.read() as tx:
        assert (await tx.execute(select(link_clicks))).all() == [(link, account.id, 15)]
    for each in (db, counting):
        await each.close()
