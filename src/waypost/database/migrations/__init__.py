"""Alembic, run in-process, without an ini file: only the settings say where the database is."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from waypost.database.engine import Database
from waypost.database.schema import COMPATIBLE_SINCE, refuse_unknown
from waypost.kit.errors import Unavailable, WaypostError

_LOCK = 0x57_41_59  # any constant: two migrations of one PostgreSQL run one after the other
_LOCK_TIMEOUT = 2.0  # seconds: meanwhile, statements of the running service wait behind the migration
_PAUSE = 1.0  # seconds in which these statements go on
_PATIENCE = 60.0  # seconds
_IS_LOCKED = {"55P03", "40P01"}
"""PostgreSQL's codes for a lock that was not free within the timeout, and for a deadlock."""


class SchemaLocked(WaypostError):
    """The schema is not current yet: other transactions held locks for too long."""


async def migrate(
    db: Database,
    *,
    patience: float = _PATIENCE,
    lock_timeout: float = _LOCK_TIMEOUT,
    on_wait: Callable[[], None] = lambda: None,
) -> tuple[str | None, str]:
    """Bring the schema to the newest revision. Return (revision before, revision after).

    On SQLite in one transaction. On PostgreSQL each revision has its own, so that none holds locks for long.
    While other transactions hold locks, try again for `patience` seconds, after each failure with `on_wait`.
    `lock_timeout`: seconds of each attempt. Raise SchemaLocked after that, SchemaUnknown for a database that this
    version cannot upgrade.
    """
    waited = 0.0
    while True:
        started = time.monotonic()
        try:
            return await db.run_sync(partial(_upgrade, lock_timeout=lock_timeout))
        except Unavailable as error:
            if not _is_locked(error):
                raise
            waited += min(time.monotonic() - started, lock_timeout)
            if waited > patience:
                raise SchemaLocked(_advice(db, patience)) from error
        on_wait()
        pause = min(_PAUSE, lock_timeout)
        await asyncio.sleep(pause)
        waited += pause


def _is_locked(error: Unavailable) -> bool:
    """Whether another transaction is in the way; without a cause it has SQLite's write lock."""
    cause = getattr(error.__cause__, "orig", None)
    is_busy = getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    return isinstance(error.__cause__, TimeoutError) or is_busy or getattr(cause, "sqlstate", "") in _IS_LOCKED


def _advice(db: Database, patience: float) -> str:
    query = "SELECT pid, query FROM pg_stat_activity WHERE xact_start < now() - interval '10 s'"
    shown = "" if db.dialect == "sqlite" else f" This shows long transactions: {query}"
    return (
        f"The schema is not current yet: other transactions held locks for {patience:.0f} seconds. Run waypost migrate"
        f" again when they have ended.{shown}"
    )


def _upgrade(connection: Connection, lock_timeout: float) -> tuple[str | None, str]:
    if connection.dialect.name == "postgresql":
        timeout = f"{round(lock_timeout * 1000)}ms"
        connection.execute(text("SELECT set_config('lock_timeout', :timeout, FALSE)"), {"timeout": timeout})
        connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": _LOCK})
    context = MigrationContext.configure(connection)
    before = context.get_current_revision()
    refuse_unknown(before)
    compatible = text("UPDATE alembic_version SET compatible_since = :since").bindparams(since=COMPATIBLE_SINCE)
    if before is not None:
        connection.execute(compatible)  # before a revision is committed that the nodes that run cannot use
    command.upgrade(_config(connection=connection), "head")
    connection.execute(compatible)
    return before, context.get_current_revision() or ""


def _config(**attributes: Any) -> Config:
    config = Config(attributes=attributes)
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    return config
