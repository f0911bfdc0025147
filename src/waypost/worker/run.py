"""Runs a worker: its loops and periodic steps, and the check of SQLite's file when it starts."""

import asyncio
import contextlib
import gc
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import structlog

from waypost.database import Database
from waypost.kit.memory import release_free_memory
from waypost.worker.jobs import Handlers, Stops
from waypost.worker.loop import POLL_INTERVAL, QueueWorker, Step, WorkerLoop, every, name_of

STEP_TIMEOUT = 3.0
"""Seconds that periodic steps get to end when the process stops. One that is cut off begins again at the next start."""
Periodic = tuple[float, Step]
"""A step, after the seconds until it is called again once it has returned False."""


class WorkerParts(NamedTuple):
    """What a worker runs of one package."""

    queues: Sequence[QueueWorker[Any, Any]] = ()
    periodic: Sequence[Periodic] = ()
    handlers: Handlers = {}  # noqa: RUF012  # nothing changes it
    stops: Stops = {}  # noqa: RUF012


_log = structlog.get_logger()


async def work(
    db: Database, loops: Sequence[WorkerLoop[Any, Any]], periodic: Sequence[Periodic] = (), *, stop: asyncio.Event
) -> None:
    """Work until `stop`: then nothing new is claimed, attempts in flight get some time to end, and steps a little."""
    async with asyncio.TaskGroup() as group:
        for loop in loops:
            group.create_task(_work_through(loop, stop))
        tasks = [group.create_task(check_integrity(db, stop), name="check_integrity")]
        for seconds, step in periodic:
            repeated = every(seconds, step, stop=stop, retry_on=Exception)
            tasks.append(group.create_task(repeated, name=name_of(step)))
        await stop.wait()
        for late in (await asyncio.wait(tasks, timeout=STEP_TIMEOUT))[1]:
            _log.info("step cancelled", step=late.get_name())
            late.cancel()


async def _work_through(loop: WorkerLoop[Any, Any], stop: asyncio.Event) -> None:
    try:
        await every(POLL_INTERVAL, loop.step, name=loop.name, stop=stop, retry_on=Exception)
    finally:  # at once: the parent waits for attempts in flight no longer than it must
        await loop.close()


def collect_garbage_rarely() -> None:
    """Call it after all imports. Collections took a seventh of the time of draining clicks.

    The worker creates many objects and few reference cycles.
    """
    gc.collect()
    gc.freeze()  # what has been imported stays
    gc.set_threshold(50_000, 20, 20)
    release_free_memory()


async def check_integrity(db: Database, stop: asyncio.Event) -> None:
    """Log damage of SQLite's file, so that a bad disk is found before it has spoiled the backups.

    Ends early at `stop`. Never raises. PostgreSQL checks its files itself.
    """
    if db.dialect != "sqlite":
        return
    try:
        verdict = await _quick_check(db, stop)
    except sqlite3.Error as error:
        verdict = str(error)
    if verdict != "ok" and not stop.is_set():
        _log.error("the database file is damaged, run waypost doctor", path=str(db.path), verdict=verdict)


async def _quick_check(db: Database, stop: asyncio.Event) -> str:
    uri = f"{db.path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    checking = asyncio.create_task(asyncio.to_thread(_verdict, connection))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([checking, stopping], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        with contextlib.suppress(sqlite3.ProgrammingError):  # it is done, and the connection is closed
            connection.interrupt()  # a large file takes minutes
    return await checking


def _verdict(connection: sqlite3.Connection) -> str:
    with contextlib.closing(connection):
        return str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
