"""Reads of one row: the same on both databases, whatever the type of a column."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Boolean, Column, MetaData, Table, Text, bindparam, func, insert, select
from sqlalchemy.exc import MultipleResultsFound

from waypost.database import Database, Id, Instant, Json
from waypost.kit.errors import Unavailable

THINGS = Table(
    "things",
    MetaData(),
    Column("id", Id, primary_key=True),
    Column("name", Text),
    Column("at", Instant),
    Column("is_on", Boolean),
    Column("content", Json),
)
FIND = select(*THINGS.c, func.coalesce(THINGS.c.name, "nameless")).where(
    THINGS.c.id == bindparam("id"), THINGS.c.at > bindparam("after"), THINGS.c.is_on.is_not(None)
)
ID, START = UUID(int=7), datetime(2026, 1, 1, tzinfo=UTC)
FULL = {"id": ID, "name": "a", "at": START, "is_on": True, "content": {"x": [1]}}
PARAMETERS = {"id": ID, "after": START.replace(year=2000)}


async def add(db: Database, **values: Any) -> None:
    await db.run_sync(partial(THINGS.create, checkfirst=True))
    async with db.write() as tx:
        await tx.execute(insert(THINGS), FULL | values)


@asynccontextmanager
async def closing(db: Database) -> AsyncIterator[Database]:
    yield db
    await db.close()


@pytest.mark.parametrize("values", [{}, {"name": None, "is_on": False, "content": None}], ids=["full", "null"])
async def test_converts_parameters_and_columns(db: Database, values: dict[str, Any]) -> None:
    await add(db, **values)
    async with db.point_read() as tx:
        row = (await tx.execute(FIND, PARAMETERS)).one_or_none()
    expected = FULL | values
    assert row is not None
    assert [*row] == [*expected.values(), expected["name"] or "nameless"]
    assert isinstance(row[3], bool)


async def test_a_transaction_finds_the_same_row(db: Database) -> None:
    await add(db)
    async with db.read() as tx:
        row = (await tx.execute(FIND, PARAMETERS)).one_or_none()
    assert row is not None
    assert [*row] == [*FULL.values(), "a"]


async def test_finds_nothing(db: Database) -> None:
    await add(db)
    async with db.point_read() as tx:
        assert (await tx.execute(FIND, PARAMETERS | {"id": UUID(int=8)})).one_or_none() is None
        assert (await tx.execute(FIND, PARAMETERS | {"after": START})).one_or_none() is None


async def test_two_rows_are_an_error(db: Database) -> None:
    await add(db)
    await add(db, id=UUID(int=8))
    async with db.point_read() as tx:
        found = await tx.execute(select(THINGS.c.name))
    with pytest.raises(MultipleResultsFound):
        found.one_or_none()


async def test_each_read_sees_what_is_committed(db: Database, database_url: str) -> None:
    await add(db)
    async with closing(Database(database_url)) as other, db.point_read() as tx:
        assert (await tx.execute(FIND, PARAMETERS)).one_or_none()
        async with other.write() as writing:
            await writing.execute(THINGS.delete())
        assert (await tx.execute(FIND, PARAMETERS)).one_or_none() is None


async def test_a_missing_table_raises_unavailable_on_sqlite_only(db: Database) -> None:
    """As other statements do: an unmigrated file is an outage."""
    expected = Unavailable if db.dialect == "sqlite" else Exception
    with pytest.raises(expected):
        async with db.point_read() as tx:
            await tx.execute(select(THINGS.c.name))
