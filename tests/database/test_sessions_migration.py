"""The migration that gives sessions the passkey by which they were proven: those that may have one end."""

from pathlib import Path
from uuid import uuid4

import pytest
from alembic import command
from conftest import PostgresServer
from people import START
from sqlalchemy import Connection, bindparam, text

from waypost.auth import create_account, sessions
from waypost.database import Database
from waypost.database.migrations import _config, migrate
from waypost.database.types import Id, Instant
from waypost.kit.ids import new_id

_IDS = [bindparam(name, type_=Id) for name in ("id", "account_id")]
_SESSION = text(
    "INSERT INTO sessions (id, digest, account_id, user_agent, ip, created_at, seen_at, expires_at)"
    " VALUES (:id, :digest, :account_id, '', '', :at, :at, :until)"
).bindparams(*_IDS, bindparam("at", type_=Instant), bindparam("until", type_=Instant))
_PASSKEY = text(
    "INSERT INTO passkeys (id, account_id, credential_id, public_key, uses, name, created_at)"
    " VALUES (:id, :account_id, :key, :key, 0, 'phone', :at)"
).bindparams(*_IDS, bindparam("at", type_=Instant))


def to_the_one_before(connection: Connection) -> None:
    command.upgrade(_config(connection=connection), "0019")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path):
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/waypost.db"
        return
    postgres: PostgresServer = request.getfixturevalue("postgres")
    name = f"test_{uuid4().hex}"
    postgres.sql(f"CREATE DATABASE {name}")
    yield postgres.url(name)
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


async def test_sessions_that_no_passkey_can_have_begun_go_on(url: str) -> None:
    db = Database(url)
    async with db.write() as tx:
        await tx.run_sync(to_the_one_before)
    people = [
        await create_account(db, email=f"{name}@example.com", name=name, plan="trial", now=START, trial_days=14)
        for name in ("ada", "bob")
    ]
    async with db.write() as tx:
        for who in people:
            values = {"id": new_id(), "account_id": who.id, "at": START, "until": START + sessions.IDLE_LIMIT}
            await tx.execute(_SESSION, values | {"digest": sessions._digest(who.name)})
            if who.name == "bob":
                await tx.execute(_PASSKEY, values | {"key": b"k"})
    await migrate(db)
    kept = await sessions.find(db, "ada", now=START)
    assert kept
    assert kept.authenticated_at == START
    assert await sessions.find(db, "bob", now=START) is None
    await db.close()
