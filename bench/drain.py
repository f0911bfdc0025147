"""Drain rate: how fast a backlog of visits becomes clicks. Segments are written first and then drained batch by batch.

This includes enrichment, rows, counters, statistics and the spool position, and each commit reaches the disk. There are
no other writers. Measured on an empty database and on one with a year of clicks, in a process of its own on all cores,
as a worker runs. All visits are of one day, whose rows of visitors are spread over ever more pages. The next batch is
prepared while one is written, so a batch takes longer than its transaction, for which other writers wait.

The write-ahead log of PostgreSQL is what its standbys receive and its archive keeps.
"""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import uvloop
from sqlalchemy import func, select, text

from bench.compiled import SOURCE
from bench.kept import DATABASES
from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import add_links, new_account, say
from bench.servers import ALL_CORES, clean_environment, module
from bench.visits import new_intake_settings, write_visits
from waypost.database import Database, Tx
from waypost.database.migrations import migrate
from waypost.resources.clicks.intake.drain import Drainer
from waypost.resources.clicks.model import clicks
from waypost.worker.run import collect_garbage_rarely

_LINKS = 10_000
_FORMS = {"": None, ", not compiled": SOURCE}


class _Drained(NamedTuple):
    clicks: int
    seconds: float
    longest: float
    """Seconds of the longest batch."""
    transaction: float
    """Seconds of the longest transaction, with its commit."""
    log: int
    """Bytes of PostgreSQL's write-ahead log."""

    @property
    def rate(self) -> float:
        return self.clicks / self.seconds

    def __str__(self) -> str:
        return f"longest batch {self.longest * 1000:.0f} ms, transaction {self.transaction * 1000:.0f} ms"


def measure(run: Run) -> list[Row]:
    empty = [row for database in DATABASES for form in _FORMS for row in _on_empty(run, database, form)]
    run.click_stores()
    return [*empty, *(row for database in DATABASES for row in _on_full(run, database))]


def _on_empty(run: Run, database: str, form: str) -> Iterator[Row]:
    url = run.new_url(database)
    drained = _drained(run, url, uvloop.run(_new_links(url)), _FORMS[form])
    detail = f"{run.visits:,} visits of {_LINKS:,} links; {drained}"
    yield measured(f"drain rate on an empty {database}{form}", drained.rate, detail, " clicks/s")
    if drained.log and not form:
        yield measured("write-ahead log of PostgreSQL for each click", drained.log / drained.clicks, detail, " bytes")


def _on_full(run: Run, database: str) -> Iterator[Row]:
    with run.last_click_store(database) as store:
        drained = _drained(run, store.url, store.links)
    where, detail = f"on {database} with {store.clicks:,} clicks stored", f"{run.visits:,} visits"
    yield measured(f"drain rate {where}", drained.rate, f"{detail} of {len(store.links):,} links", " clicks/s")
    yield measured(f"longest batch of a drain {where}", drained.longest * 1000, detail, " ms")
    what = f"longest transaction of a drain {where}"
    yield measured(what, drained.transaction * 1000, f"{detail}; other writers wait for it on SQLite", " ms")


async def _new_links(url: str) -> list[UUID]:
    db = Database(url)
    await migrate(db)
    links = await add_links(db, await new_account(db, "visited"), _LINKS)
    await db.close()
    return links


def _drained(run: Run, url: str, links: Sequence[UUID], package: Path | None = None) -> _Drained:
    spool = run.new_directory()
    write_visits(spool, links, run.visits)
    say(f"{run.visits:,} visits spooled")
    command = ["taskset", "-c", ALL_CORES, *module("drain", url, str(spool), package=package)]
    drained = _Drained(*json.loads(subprocess.check_output(command, env=clean_environment())))
    if drained.clicks != run.visits:
        raise Failed(f"{drained.clicks:,} of {run.visits:,} visits were drained")
    return drained


class _TimedDatabase(Database):
    longest = 0.0

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        began = time.perf_counter()
        async with super().write() as tx:
            yield tx
        self.longest = max(self.longest, time.perf_counter() - began)


async def _drain(url: str, spool: Path) -> _Drained:
    collect_garbage_rarely()  # as a worker does
    db = _TimedDatabase(url)
    before, log, steps = await _count(db), await _log(db), list[float]()
    drainer, has_more = Drainer(db, spool, new_intake_settings()), True
    while has_more:
        began = time.perf_counter()
        has_more = await drainer.step()
        steps.append(time.perf_counter() - began)
    drained = _Drained(await _count(db) - before, sum(steps), max(steps), db.longest, await _log(db) - log)
    await db.close()
    return drained


async def _count(db: Database) -> int:
    async with db.read() as tx:
        return (await tx.execute(select(func.count()).select_from(clicks))).scalar_one()


async def _log(db: Database) -> int:
    if db.dialect == "sqlite":
        return 0
    async with db.read() as tx:
        return int((await tx.execute(text("SELECT pg_current_wal_lsn() - '0/0'"))).scalar_one())


if __name__ == "__main__":
    print(json.dumps(uvloop.run(_drain(sys.argv[1], Path(sys.argv[2])))))
