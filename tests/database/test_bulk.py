"""Bulk statements give the same result as single rows, on both databases."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import BigInteger, Boolean, Column, Integer, MetaData, SmallInteger, Table, Text, select
from sqlalchemy.exc import IntegrityError

from waypost.database import Database, Id, Instant, bulk
from waypost.kit.clock import microseconds

AT = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
things = Table(
    "things",
    MetaData(),
    Column("id", Id, primary_key=True),
    Column("number", Integer),
    Column("small", SmallInteger),
    Column("big", BigInteger),
    Column("is_so", Boolean),
    Column("text", Text),
    Column("at", Instant),
)
parts = Table(
    "parts",
    things.metadata,
    Column("day", Integer, primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("id", Id, primary_key=True),
    Column("text", Text),
    sqlite_with_rowid=False,
)


def row(number: int, text: str = "", at: datetime | None = AT) -> tuple[Any, ...]:
    return number.to_bytes(16), number, number % 100, -(2**63) + number, number % 2 == 0, text, at and microseconds(at)


@pytest.fixture(autouse=True)
async def there_are_things(db: Database) -> AsyncIterator[None]:
    await db.run_sync(things.metadata.create_all)
    yield
    await db.run_sync(things.metadata.drop_all)


async def stored(db: Database) -> list[tuple[Any, ...]]:
    async with db.read() as tx:
        return [tuple(found) for found in await tx.execute(select(things).order_by(things.c.number))]


async def test_inserts_rows(db: Database) -> None:
    async with db.write() as tx:
        await bulk.insert(tx, things, [row(7, "a"), row(8, "b", at=None)])
    assert await stored(db) == [
        (UUID(int=7), 7, 7, -(2**63) + 7, False, "a", AT),
        (UUID(int=8), 8, 8, -(2**63) + 8, True, "b", None),
    ]


async def test_inserts_and_finds_no_rows(db: Database) -> None:
    async with db.write() as tx:
        await bulk.insert(tx, things, [])
    assert await stored(db) == []


@pytest.mark.parametrize(
    "text", ["", " ", "null", 'a"b', "a\\b", "a,b", "{a}", "a\tb\nc\rd", "'%s ? :a $1", "ü \U0001f600 \u2028"]
)
async def test_keeps_any_text(db: Database, text: str) -> None:
    async with db.write() as tx:
        await bulk.insert(tx, things, [row(1, text), row(2, "after")])
    assert [found[5] for found in await stored(db)] == [text, "after"]


@pytest.mark.parametrize("count", [1, 3, 4, 99, 1_000, 2_345])
async def test_inserts_any_number_of_rows(db: Database, count: int) -> None:
    async with db.write() as tx:
        await bulk.insert(tx, things, [row(number) for number in range(count)])
    assert [found[1] for found in await stored(db)] == list(range(count))


async def test_merges_existing_rows_on_conflict(db: Database) -> None:
    added = "ON CONFLICT (id) DO UPDATE SET number = things.number + excluded.number"
    async with db.write() as tx:
        await bulk.insert(tx, things, [row(5)], on_conflict=added)
        await bulk.insert(tx, things, [row(5), row(6)], on_conflict=added)
    assert [found[1] for found in await stored(db)] == [6, 10]


async def test_refuses_existing_rows_without_a_conflict_clause(db: Database) -> None:
    with pytest.raises(IntegrityError):
        async with db.write() as tx:
            await bulk.insert(tx, things, [row(5), row(6)])
            await bulk.insert(tx, things, [row(6), row(7)])
    assert await stored(db) == []


@pytest.mark.parametrize("count", [1, 5, 1_234])
async def test_finds_rows_by_key(db: Database, count: int) -> None:
    rows = [row(number) for number in range(count)]
    async with db.write() as tx:
        await bulk.insert(tx, things, rows)
    async with db.read() as tx:
        found = await bulk.find(tx, things, [(each[0],) for each in (*rows, row(77_777))])
        assert await bulk.find(tx, things, []) == []
    assert [each[:2] for each in sorted(found)] == [each[:2] for each in rows]


@pytest.mark.parametrize("count", [1, 5, 1_234])
async def test_finds_the_first_rows_of_each_prefix(db: Database, count: int) -> None:
    highest = b"\xff" * 16
    rows = [(1, n, id_.to_bytes(16), "a") for n in range(count) for id_ in range(n % 5)]
    others = [(2, 1, highest, "b"), (1, -7, b"\xfe" * 16, "c"), (1, -7, highest, "d")]
    async with db.write() as tx:
        await bulk.insert(tx, parts, [*rows, *others])
    async with db.read() as tx:
        found = await bulk.find_first(tx, parts, [(1, n) for n in range(-9, count)], limit=3)
        assert await bulk.find_first(tx, parts, [], limit=3) == []
    expected = [*(row for row in rows if int.from_bytes(row[2]) < 3), *others[1:]]
    assert sorted(found) == sorted(expected)
