"""Scans are counted when visits are drained, and recounted by a rebuild."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from resources.clicks.intake.test_drain import SETTINGS, visit
from resources.qrcodes.codes_env import Env
from sqlalchemy import delete, insert, select

from waypost.database import Database
from waypost.redirect import Spool
from waypost.resources.clicks.backends.sql.rebuild import rebuild
from waypost.resources.clicks.intake.drain import Drainer
from waypost.resources.qrcodes.model import qr_scans

BOT = b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


@pytest.fixture
async def spool(tmp_path: Path) -> AsyncIterator[Spool]:
    spool = Spool(tmp_path / "spool", limit=1 << 30)
    yield spool
    spool.close()


async def drain(db: Database, spool: Spool, *lines: bytes) -> None:
    spool.append(b"".join(lines))
    drainer = Drainer(db, spool._directory, SETTINGS)
    while await drainer.step():
        pass


async def counted(db: Database) -> dict[UUID, int]:
    async with db.read() as tx:
        return dict(map(tuple, await tx.execute(select(qr_scans))))  # type: ignore[arg-type]


async def scanned(env: Env, spool: Spool) -> dict[str, Any]:
    """A link with two scans among its visits. Another link has none."""
    link, other = await env.links.make(), await env.links.make()
    one, two = UUID(link["id"]), UUID(other["id"])
    lines = [visit(one, query=query) for query in (b"r=qr", b"x=1&r=qr&y", b"", b"r=qrx", b"R=QR", b"r=q")]
    ahead = {"user_agent": BOT}, {"purpose": b"prefetch"}
    await drain(env.deps.db, spool, *lines, *(visit(one, query=b"r=qr", **each) for each in ahead), visit(two))
    assert await counted(env.deps.db) == {one: 2}
    return link


async def test_counts_scans_among_visits(env: Env, spool: Spool) -> None:
    link = await scanned(env, spool)
    assert (await env.find(link))["scans"] == 2
    assert (await env.links.find(link)).json()["data"]["clicks"] == 6
    await drain(env.deps.db, spool, visit(UUID(link["id"]), query=b"r=qr"))
    await env.set(link, style="dots")
    assert (await env.find(link))["scans"] == 3


async def test_keeps_counting_scans_of_a_deleted_link(env: Env, spool: Spool) -> None:
    link = await scanned(env, spool)
    await env.links.delete(link)
    await drain(env.deps.db, spool, visit(UUID(link["id"]), query=b"r=qr"))
    assert await counted(env.deps.db) == {UUID(link["id"]): 3}


@pytest.mark.parametrize("wrong", [None, 0, 99])
async def test_a_rebuild_recounts_scans(env: Env, spool: Spool, wrong: int | None) -> None:
    link = await scanned(env, spool)
    db = env.deps.db
    async with db.write() as tx:
        await tx.execute(delete(qr_scans))
        if wrong is not None:
            await tx.execute(insert(qr_scans).values(link_id=UUID(link["id"]), scans=wrong))
    assert (await rebuild(db)).links == 1
    assert await counted(db) == {UUID(link["id"]): 2}
    assert (await rebuild(db)).links == 0
