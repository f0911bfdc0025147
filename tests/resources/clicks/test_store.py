"""Clicks are stored once, and shown only to their account."""

import traceback
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select

from waypost.database import Database
from waypost.kit.ids import new_id
from waypost.resources.clicks.backends.sql import write
from waypost.resources.clicks.model import Click, clicks

AT = 1_763_690_000_123_456


def click(number: int = 0, **fields: Any) -> Click:
    at = AT + number
    return Click(new_id().bytes, bytes(16), bytes(16), at, at // 86_400_000_000, 0, **({"ip": "192.0.2.7"} | fields))


async def added(db: Database, reported: list[Click]) -> list[Click]:
    async with db.write() as tx:
        return [*await write.add(tx, reported)]


async def test_adds_new_clicks(db: Database) -> None:
    reported = [click(n) for n in range(3)]
    assert await added(db, reported) == reported
    async with db.read() as tx:
        assert sorted(await tx.scalars(select(clicks.c.id))) == sorted(UUID(bytes=each.id) for each in reported)


async def test_skips_many_known_clicks(db: Database) -> None:
    reported, new = [click(n) for n in range(1_100)], [click(n) for n in range(2)]
    await added(db, reported)
    assert await added(db, [*reported[:600], new[0], *reported[600:], new[1]]) == new
    async with db.read() as tx:
        assert (await tx.execute(select(func.count()).select_from(clicks))).scalar_one() == 1_102


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_errors_of_postgresql_contain_no_ip_address(db: Database) -> None:
    with pytest.raises(Exception, match="23502") as raised:
        await added(db, [click(), click(country=None)])
    assert "192.0.2.7" not in "".join(traceback.format_exception(raised.value))
