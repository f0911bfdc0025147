"""The migration that gives SQLite its index of trigrams, on links that are there already."""

from pathlib import Path

import pytest
from alembic import command
from people import START
from sqlalchemy import Connection, delete, insert, text, update

from waypost.auth import create_account
from waypost.database import Database
from waypost.database.migrations import _config, migrate
from waypost.kit.errors import SettingsError
from waypost.kit.ids import new_id
from waypost.resources.links.model import links

COUNT = text("SELECT count(*) FROM link_trigrams WHERE link_trigrams MATCH 'mer AND sal'")


def to_the_one_before(connection: Connection) -> None:
    command.upgrade(_config(connection=connection), "0018")


async def found(db: Database) -> int:
    async with db.read() as tx:
        return await tx.scalar(COUNT) or 0


async def test_links_that_are_there_are_found(tmp_path: Path) -> None:
    db, alive, gone = Database(f"sqlite:///{tmp_path}/waypost.db"), new_id(), new_id()
    async with db.write() as tx:
        await tx.run_sync(to_the_one_before)
    account = await create_account(db, email="a@example.com", name="", plan="lifetime", now=START, trial_days=0)
    row = {"destination_url": "", "title": "", "search_text": "summer sale", "is_on": True, "account_id": account.id}
    lists = {"utm_params": {}, "tags": [], "created_at": START, "updated_at": START}
    async with db.write() as tx:
        for id_, deleted_at in ((alive, None), (gone, START)):
            await tx.execute(insert(links).values(id=id_, slug="a", deleted_at=deleted_at, **row, **lists))
    await migrate(db)
    assert await found(db) == 1
    async with db.write() as tx:
        await tx.execute(update(links).where(links.c.id == gone).values(slug="b", deleted_at=None))
    assert await found(db) == 2
    async with db.write() as tx:
        await tx.execute(delete(links))
    assert await found(db) == 0
    await db.close()


async def test_what_sqlite_lacks_is_told(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/waypost.db")
    async with db.write() as tx:
        await tx.run_sync(to_the_one_before)
        await tx.execute(text("CREATE TABLE link_trigrams (in_the_way INTEGER)"))  # fails as an unknown module does
    with pytest.raises(SettingsError, match=r"SQLite 3\.34 or newer with FTS5 is needed"):
        await migrate(db)
    await db.close()
