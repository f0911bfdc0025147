"""Alembic, run in-process, without an ini file: only the settings say where the database is."""

from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from waypost.database.engine import Database
from waypost.database.schema import COMPATIBLE_SINCE, refuse_unknown, revision

_LOCK = 0x57_41_59  # any constant: two migrations of one PostgreSQL run one after the other


async def migrate(db: Database) -> tuple[str | None, str]:
    """Bring the schema to the newest revision in one transaction. Return (revision before, revision after).

    Raise SchemaUnknown for a database that this version cannot upgrade.
    """
    async with db.write() as tx:
        if db.dialect == "postgresql":
            await tx.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        before = await revision(tx)
        refuse_unknown(before)
        await tx.run_sync(_upgrade)
        await tx.execute(text("UPDATE alembic_version SET compatible_since = :since"), {"since": COMPATIBLE_SINCE})
        return before, await revision(tx) or ""


def _upgrade(connection: Connection) -> None:
    command.upgrade(_config(connection=connection), "head")


def _config(**attributes: Any) -> Config:
    config = Config(attributes=attributes)
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    return config
