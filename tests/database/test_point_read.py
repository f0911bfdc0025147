"""Reads of one row: the same on both databases, whatever the type of a column."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Boolean, Column, MetaData, Table, Text, bindparam, func, insert, select
from sqlalchemy.exc import MultipleResultsFound
from sqlalchemy.schema import CreateTable

from waypost.database import Database, Id, Instant, Json, RowQuery
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
FIND = RowQuery(
    select(*THINGS.c, func.coalesce(THINGS.c.name, "nameless")).where(
        THINGS.c.id == bindparam("id"), THINGS.c.at > bindparam("after"), THINGS.c.is_on.is_not(None)
    )
)
ID, START = UUID(int=7), datetime(2026, 1, 1, tzinfo=UTC)
FULL = {"id": ID, "name": "a", "at": START, "is_on": True, "content": {"x": [1]}}
PARAMETERS = {"id": ID, "after": START.replace(year=2000)}


async def add(db: Database, **values: Any) -> None:
    async with db.write() as tx:
        await tx.execute(CreateTable(THINGS, if_not_exists=True))
        await tx.execute(insert(THINGS), FULL | values)


@asynccontextmanager
async def closing(db: Database) -> AsyncIterator[Database]:
    yield db
    await db.close()


@pytest.mark.parametrize("values", [{}, {"name": None, "is_on": False, "content": None}], ids=["full", "null"])
async def test_converts_parameters_and_columns(db: Database, values: dict[str, Any]) -> None:
    await add(db, **values)
    async with db.point_read() as tx:
        row = await FIND.find(tx, PARAMETERS)
    expected = FULL | values
    assert row is not None
    assert [*row] == [*expected.values(), expected["name"] or "nameless"]
    assert isinstance(row[3], bool)


async def test_a_transaction_finds_the_same_row(db: Database) -> None:
    await add(db)
    async with db.read() as tx:
        row = await FIND.find(tx, PARAMETERS)
    assert row is not None
    assert [*row] == [*FULL.values(), "a"]


async def test_finds_nothing(db: Database) -> None:
    await add(db)
    async with db.point_read() as tx:
        assert await FIND.find(tx, PARAMETERS | {"id": UUID(int=8)}) is None
        assert await FIND.find(tx, PARAMETERS | {"after": START}) is None


async def test_two_rows_are_an_error(db: Database) -> None:
    await add(db)
    await add(db, id=UUID(int=8))
    async with db.point_read() as tx:
        with pytest.raises((MultipleResultsFound, ValueError)):
            await RowQuery(select(THINGS.c.name)).find(tx, {})


async def test_each_read_sees_what_is_committed(db: Database, database_url: str) -> None:
    await add(db)
    async with closing(Database(database_url)) as other, db.point_read() as tx:
        assert await FIND.find(tx, PARAMETERS)
        async with other.write() as writing:
            await writing.execute(THINGS.delete())
        assert await FIND.find(tx, PARAMETERS) is None


async def test_a_missing_table_raises_unavailable_on_sqlite_only(db: Database) -> None:
    """As other statements do: an unmigrated file is an outage."""
    expected = Unavailable if db.dialect == "sqlite" else Exception
    with pytest.raises(expected):
        async with db.point_read() as tx:
            await RowQuery(select(THINGS.c.name)).find(tx, {})
