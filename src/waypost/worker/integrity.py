"""Checks SQLite's file for damage when the worker starts, beside its work.

It repairs nothing. It logs the damage, so that a bad disk is found before it has spoiled the backups.
"""

import asyncio
import contextlib
import sqlite3

import structlog

from waypost.database import Database

_log = structlog.get_logger()


async def check(db: Database, stop: asyncio.Event) -> None:
    """Ends early at `stop`. Never raises. PostgreSQL checks its files itself."""
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
