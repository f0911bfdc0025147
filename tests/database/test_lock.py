"""A lock of PostgreSQL's, taken for a transaction."""

import asyncio

import pytest
from sqlalchemy import text

from waypost.database import Database, lock, take
from waypost.kit.errors import Unavailable


async def test_it_works(db: Database) -> None:
    order, held = list[str](), asyncio.Event()

    async def first() -> None:
        async with db.write() as tx:
            await take(tx, 7)
            held.set()
            await tx.execute(text("SELECT 1"))
            order.append("first")

    async def second() -> None:
        await held.wait()
        async with db.write() as tx:
            await take(tx, 7)
            order.append("second")

    await asyncio.gather(second(), first())
    assert order == ["first", "second"]


async def test_who_waits_too_long_is_told(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    if db.dialect == "sqlite":
        return
    monkeypatch.setattr(lock, "_TAKE", text(lock._TAKE.text.replace("10s", "50ms")))
    async with db.write() as holding:
        await take(holding, 7)
        with pytest.raises(Unavailable):
            async with db.write() as tx:
                await take(tx, 7)
    async with db.write() as tx:
        await take(tx, 7)


async def test_who_holds_it_and_does_nothing_loses_it(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    if db.dialect == "sqlite":
        return
    monkeypatch.setattr(lock, "_TAKE", text(lock._TAKE.text.replace("60s", "50ms")))
    with pytest.raises(Unavailable):
        async with db.write() as idle:
            await take(idle, 7)
            async with db.write() as tx:
                await take(tx, 7)  # returns when the other has lost it
            await idle.execute(text("SELECT 1"))
