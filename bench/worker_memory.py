"""Memory of the worker while it drains millions of clicks: `serve` on SQLite, its spool filled repeatedly.

The target applies to private memory (anonymous pages) after the first and after the last batch. RSS also includes the
mapped database file, up to a gigabyte of it, and grows with the file; the details show it.
"""

import asyncio
import time
from pathlib import Path
from uuid import UUID

from sqlalchemy import select

from bench.report import Failed, Row, measured
from bench.run import Run
from bench.seed import Store, new_store
from bench.servers import ALL_CORES, Server, waypost
from bench.visits import write_visits
from waypost.database import Database
from waypost.redirect.segment import HEADER
from waypost.redirect.spool import bytes_of, segments
from waypost.resources.links.model import links

_BATCHES = 10
_TIMEOUT = 600.0  # seconds for a batch


def measure(run: Run) -> list[Row]:
    store, directory = asyncio.run(new_store(run.new_directory() / "waypost.db", 10_000)), run.new_directory()
    ids, spool, each = asyncio.run(_ids(store)), directory / "data" / "spool", run.drained // _BATCHES
    with waypost(store, directory, role="all", cores=ALL_CORES) as server:
        sizes = []
        for number in range(_BATCHES):
            write_visits(spool, ids, each, first=number * each)
            _wait_until_drained(spool)
            sizes.append(_memory(server))
    own = [size for size, _ in sizes]
    change = max(abs(size / own[0] - 1) for size in own[1:]) * 100
    detail = (
        f"after {each:,}: {own[0]:.1f} MB, after {run.drained:,}: {own[-1]:.1f} MB, at most {max(own):.1f} MB;"
        f" RSS with the mapped file {sizes[0][1]:.0f} and {sizes[-1][1]:.0f} MB"
    )
    return [measured("largest change of the worker's memory while it drains", change, detail, " %")]


async def _ids(store: Store) -> list[UUID]:
    db = Database(store.url)
    async with db.read() as tx:
        found = list(await tx.scalars(select(links.c.id)))
    await db.close()
    return found


def _wait_until_drained(spool: Path) -> None:
    """The drainer deletes drained segments. The web process keeps an empty one."""
    deadline = time.monotonic() + _TIMEOUT
    while any(size > len(HEADER) for size in bytes_of(segments(spool))):
        if time.monotonic() > deadline:
            raise Failed("the spool is not being drained")
        time.sleep(0.2)


def _memory(server: Server) -> tuple[float, float]:
    """(private memory, RSS) in MB."""
    for pid in server.processes():
        if b"worker" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            own, rss = (
                next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))
                for name in ("RssAnon:", "VmRSS:")
            )
            return own, rss
    raise Failed("no worker is running")
