"""Migration 0057: what waited in queues of its own waits as a job."""

import lzma
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from conftest import PostgresServer
from database.test_releases import RELEASES, restored
from sqlalchemy import Integer, Text, column, insert, table, update

from waypost.database import Ciphertext, Database, Id, Instant
from waypost.database.migrations import migrate
from waypost.kit.ids import new_id
from waypost.resources.domains.model import CHECK_JOB, domains
from waypost.resources.pixels.events.queue import JOBS
from waypost.resources.pixels.model import pixels
from waypost.worker.jobs import Again, JobKind, JobRunner

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
CHECKS = table("domains", column("id", Id), column("check_at", Instant), column("status", Text))
BATCHES = table(
    "pixel_batches",
    *(column(name, Id) for name in ("pixel_id", "last_event")),
    column("attempts", Integer),
    *(column(name, Instant) for name in ("next_attempt_at", "leased_until")),
)


@pytest.fixture(params=["sqlite", "postgresql"])
async def release(request: pytest.FixtureRequest, tmp_path: Path, postgres: PostgresServer) -> AsyncIterator[Database]:
    """A database of 0.1.0."""
    if request.param == "sqlite":
        path = tmp_path / "waypost.db"
        path.write_bytes(lzma.decompress((RELEASES / "0.1.0.sqlite.xz").read_bytes()))
        db = Database(f"sqlite:///{path}")
        yield db
        await db.close()
    else:
        with restored("0.1.0", postgres) as name:
            db = Database(postgres.url(name))
            yield db
            await db.close()


async def claim(db: Database, kind: JobKind) -> list[tuple[UUID, UUID | None, int, object]]:
    async def handle(_: object) -> Again | None: ...

    runner = JobRunner(kind.queue, {kind: handle}, clock=lambda: NOW)
    async with db.write() as tx:
        assert await runner.is_due(tx)
        return [(job.id, job.account_id, job.attempt, job.payload) for job in await runner.claim(tx, 1)]


async def test_pending_checks_and_batches_are_jobs(release: Database) -> None:
    account, asked, daily, unchecked, pixel, last_event = (new_id() for _ in range(6))
    common = {"account_id": account, "created_at": NOW, "updated_at": NOW}
    domain = {"token": "t", "is_served": False, "failures": 0, "links_count": 0, "tls_status": "none"} | common
    async with release.write() as tx:
        for id_, status in ((daily, "verified"), (asked, "verifying"), (unchecked, "pending")):
            await tx.execute(insert(domains), domain | {"id": id_, "hostname": f"{id_}.test", "status": status})
        for id_, seconds in ((daily, 9), (asked, 1)):
            due = update(CHECKS).where(CHECKS.c.id == id_)
            await tx.execute(due.values(check_at=NOW - timedelta(seconds=seconds)))
        await tx.execute(
            insert(pixels), common | {"id": pixel, "platform": "tiktok", "name": "p", "pixel_id": Ciphertext(b"p")}
        )
        batch = {"pixel_id": pixel, "last_event": last_event, "attempts": 3, "next_attempt_at": NOW}
        await tx.execute(insert(BATCHES), batch | {"leased_until": NOW})
    await migrate(release)
    assert await claim(release, CHECK_JOB) == [(asked, account, 1, {})]
    assert await claim(release, CHECK_JOB) == [(daily, account, 1, {})]
    assert await claim(release, JOBS["tiktok"]) == [(pixel, account, 4, {"last_event": str(last_event)})]
