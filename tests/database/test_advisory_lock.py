"""The advisory lock of a transaction on PostgreSQL."""

import asyncio

import pytest
from sqlalchemy import text

from waypost.database import Database, engine, take_advisory_lock
from waypost.kit.errors import Unavailable


async def test_is_held_until_the_transaction_ends(db: Database) -> None:
    order, held = list[str](), asyncio.Event()

    async def first() -> None:
        async with db.write() as tx:
            await take_advisory_lock(tx, "test")
            held.set()
            await tx.execute(text("SELECT 1"))
            order.append("first")

    async def second() -> None:
        await held.wait()
        async with db.write() as tx:
            await take_advisory_lock(tx, "test")
            order.append("second")

    await asyncio.gather(second(), first())
    assert order == ["first", "second"]


async def test_waiting_too_long_raises_unavailable(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    if db.dialect == "sqlite":
        return
    monkeypatch.setattr(engine, "_TAKE_LOCK", text(engine._TAKE_LOCK.text.replace("10s", "50ms")))
    async with db.write() as holding:
        await take_advisory_lock(holding, "test")
        with pytest.raises(Unavailable):
            async with db.write() as tx:
                await take_advisory_lock(tx, "test")
    async with db.write() as tx:
        await take_advisory_lock(tx, "test")


async def test_an_idle_holder_loses_the_lock(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    if db.dialect == "sqlite":
        return
    monkeypatch.setattr(engine, "_TAKE_LOCK", text(engine._TAKE_LOCK.text.replace("60s", "50ms")))
    with pytest.raises(Unavailable):
        async with db.write() as idle:
            await take_advisory_lock(idle, "test")
            async with db.write() as tx:
                await take_advisory_lock(tx, "test")  # returns once the idle transaction was ended
            await idle.execute(text("SELECT 1"))
