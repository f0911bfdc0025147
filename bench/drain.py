"""How fast a backlog of visits becomes clicks: segments written beforehand, drained batch by batch until none is left.

Enrichment, rows, counters and the spool position are all in it, and each commit reaches the disk. Nobody else writes.
"""

import asyncio
import time
from pathlib import Path

from sqlalchemy import func, select

from bench.postgres import postgres
from bench.report import Failed, Row, told
from bench.run import Run
from bench.seed import add_links, new_account, say
from bench.visits import write_visits
from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.resources.clicks import Drainer, Rules
from waypost.resources.clicks.model import clicks

_LINKS = 10_000


def measure(run: Run) -> list[Row]:
    sqlite = f"sqlite:///{run.new_directory() / 'waypost.db'}"
    rows = [_row("SQLite", run, asyncio.run(_rates(sqlite, run.new_directory(), run.visits)))]
    with postgres() as url:
        rows.append(_row("PostgreSQL", run, asyncio.run(_rates(url, run.new_directory(), run.visits))))
    return rows


def _row(database: str, run: Run, found: tuple[float, float]) -> Row:
    rate, longest = found
    detail = f"{run.visits:,} visits of {_LINKS:,} links; longest batch {longest * 1000:.0f} ms"
    return told(f"drain rate on {database}", f"{rate:,.0f} clicks/s", detail)


async def _rates(url: str, spool: Path, visits: int) -> tuple[float, float]:
    """(clicks a second, seconds of the longest batch)"""
    db = Database(url)
    await migrate(db)
    links = await add_links(db, await new_account(db, "visited"), _LINKS)
    say(f"{visits:,} visits spooled")
    write_visits(spool, links, visits)
    drainer, steps = Drainer(db, spool, Rules()), []
    while not steps or steps[-1][0]:
        began = time.perf_counter()
        steps.append((await drainer.step(), time.perf_counter() - began))
    async with db.read() as tx:
        drained = (await tx.execute(select(func.count()).select_from(clicks))).scalar_one()
    await db.close()
    if drained != visits:
        raise Failed(f"{drained:,} of {visits:,} visits were drained")
    seconds = [took for _, took in steps]
    return visits / sum(seconds), max(seconds)
