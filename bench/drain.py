"""Drain rate: how fast a backlog of visits becomes clicks. Segments are written first and then drained batch by batch.

This includes enrichment, rows, counters, statistics and the spool position, and each commit reaches the disk. There are
no other writers. Measured on an empty database and on one with a year of clicks, on all cores, as a worker runs.
"""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from sqlalchemy import func, select

from bench.postgres import postgres
from bench.report import Failed, Row, at_least, without_target
from bench.run import Run
from bench.seed import add_links, new_account, say
from bench.servers import on_all_cores
from bench.visits import new_intake_settings, write_visits
from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.resources.clicks.intake.drain import Drainer
from waypost.resources.clicks.model import clicks
from waypost.worker.run import collect_garbage_rarely

_LINKS = 10_000
_TARGETS = {"SQLite": 25_000, "PostgreSQL": 15_000}  # clicks a second


def measure(run: Run) -> list[Row]:
    with on_all_cores():
        return _measured(run)


def _measured(run: Run) -> list[Row]:
    sqlite = f"sqlite:///{run.new_directory() / 'waypost.db'}"
    rows = [_on_empty("SQLite", sqlite, run)]
    with postgres() as url:
        rows.append(_on_empty("PostgreSQL", url, run))
    return [*rows, *(_on_full(database, bound, run) for database, bound in _TARGETS.items())]


def _on_empty(database: str, url: str, run: Run) -> Row:
    rate, longest = asyncio.run(_drained(url, asyncio.run(_new_links(url)), run))
    detail = f"{run.visits:,} visits of {_LINKS:,} links; longest batch {longest * 1000:.0f} ms"
    return without_target(f"drain rate on an empty {database}", f"{rate:,.0f} clicks/s", detail)


def _on_full(database: str, bound: float, run: Run) -> Row:
    store = run.click_store(database)
    rate, longest = asyncio.run(_drained(store.url, store.links, run))
    detail = f"{run.visits:,} visits of {len(store.links):,} links; longest batch {longest * 1000:.0f} ms"
    return at_least(f"drain rate on {database} with {store.clicks:,} clicks stored", rate, bound, detail, " clicks/s")


async def _new_links(url: str) -> list[UUID]:
    db = Database(url)
    await migrate(db)
    links = await add_links(db, await new_account(db, "visited"), _LINKS)
    await db.close()
    return links


async def _drained(url: str, links: Sequence[UUID], run: Run) -> tuple[float, float]:
    """(clicks a second, seconds of the longest batch)"""
    spool = run.new_directory()
    write_visits(spool, links, run.visits)
    say(f"{run.visits:,} visits spooled")
    db = Database(url)
    before = await _count(db)
    seconds = await _drain(db, spool)
    drained = await _count(db) - before
    await db.close()
    if drained != run.visits:
        raise Failed(f"{drained:,} of {run.visits:,} visits were drained")
    return drained / sum(seconds), max(seconds)


async def _drain(db: Database, spool: Path) -> list[float]:
    collect_garbage_rarely()  # as a worker does
    drainer, steps = Drainer(db, spool, new_intake_settings()), list[tuple[int, float]]()
    while not steps or steps[-1][0]:
        began = time.perf_counter()
        steps.append((await drainer.step(), time.perf_counter() - began))
    return [took for _, took in steps]


async def _count(db: Database) -> int:
    async with db.read() as tx:
        return (await tx.execute(select(func.count()).select_from(clicks))).scalar_one()
