"""Alembic, run in-process: no ini file, no second way to say where the database is."""

from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from waypost.database.engine import Database

_LOCK = 0x57_41_59  # any number of our own: two migrators of one PostgreSQL take turns


async def migrate(db: Database) -> tuple[str | None, str]:
    """Brings the schema to the newest revision in one transaction. Returns (revision before, revision after)."""
    async with db.write() as tx:
        if db.dialect == "postgresql":
            await tx.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        before = await tx.run_sync(_revision)
        await tx.run_sync(_upgrade)
        return before, await tx.run_sync(_revision) or ""


async def pending(db: Database) -> tuple[str | None, str]:
    """(revision of the database, newest revision): equal when nothing is left to do."""
    async with db.read() as tx:
        return await tx.run_sync(_revision), newest()


def newest() -> str:
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _upgrade(connection: Connection) -> None:
    command.upgrade(_config(connection=connection), "head")


def _config(**attributes: Any) -> Config:
    config = Config(attributes=attributes)
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    return config
