"""A drainer that reports each point at which its process can end.

As a program, it drains in a process that is killed at the point whose number is read from a line of stdin, and writes
"killed" or "drained". Arguments: the URLs of PostgreSQL and ClickHouse, the spool's directory.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import clickhouse_connect.driver.asyncclient  # noqa: F401  # once, not in each forked process
import psycopg  # noqa: F401  # the same
from people import FakeClock

from waypost.database import Database
from waypost.resources.clicks.backends.clickhouse import ClickHouseStore
from waypost.resources.clicks.backends.clickhouse.client import ClickHouse
from waypost.resources.clicks.backends.clickhouse.drain import ClickHouseDrainer
from waypost.resources.clicks.intake import drain as intake_drain
from waypost.resources.clicks.intake.build import IntakeSettings

BATCH_BYTES = {"postgresql": 600}
"""Two or three visits."""
Reached = Callable[[str], Awaitable[None]]


class Watched:
    """A database, or a click store."""

    def __init__(self, watched: Any, reached: Reached) -> None:
        self._watched = watched
        self._reached = reached

    def __getattr__(self, name: str) -> Any:
        return getattr(self._watched, name)

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[Any]:
        async with self._watched.read() as tx:
            yield tx
        await self._reached("read")

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[Any]:
        await self._reached("write")
        async with self._watched.write() as tx:
            yield tx
            await self._reached("uncommitted")
        await self._reached("committed")

    async def insert(self, *block: Any) -> None:
        await self._reached("insert")
        await self._watched.insert(*block)
        await self._reached("inserted")


class Ticks:
    """A clock by which segments can be removed at every step."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def new_drainer(db: Any, store: Any, directory: Path, country: str = "DE") -> ClickHouseDrainer:
    settings = IntakeSettings((), "full", lambda _address: country, b"key")
    return ClickHouseDrainer(db, store, directory, settings, clock=FakeClock(), monotonic=Ticks())


def watched_drainer(db: Database, store: ClickHouseStore, directory: Path, reached: Reached) -> ClickHouseDrainer:
    return new_drainer(Watched(db, reached), Watched(store, reached), directory)


async def _drain_until(nth: int, postgres_url: str, clickhouse_url: str, directory: str) -> None:
    points = itertools.count(1)

    async def reached(_point: str) -> None:
        if next(points) == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    db, store = Database(postgres_url), ClickHouseStore(ClickHouse(clickhouse_url))
    drainer = watched_drainer(db, store, Path(directory), reached)
    while await drainer.step():
        pass


def main() -> None:
    intake_drain._BATCH_BYTES = BATCH_BYTES
    for line in sys.stdin:
        child = os.fork()
        if not child:
            asyncio.run(_drain_until(int(line), *sys.argv[1:]))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status in {0, signal.SIGKILL}
        print("killed" if status else "drained", flush=True)


if __name__ == "__main__":
    main()
