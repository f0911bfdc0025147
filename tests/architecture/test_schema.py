"""The migrations lead to exactly the tables that the resources' models describe, on both databases."""

import importlib
import re
import warnings
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from architecture.code import MIGRATIONS
from sqlalchemy import Connection, inspect

from waypost.database import Database, metadata
from waypost.database.schema import newest, pending
from waypost.packages import load_tables

_OF_SEARCH = re.compile(r"link_(numbers|trigrams.*)")
"""SQLite's index of trigrams: its tables have no rows of ours."""
_LIMITS = "rate_limits"
"""PostgreSQL's log of requests, for one statement that SQLAlchemy does not see."""


def differences(connection: Connection) -> list[Any]:
    def is_meant(item: Any, name: str | None, *_: object) -> bool:
        if name == _LIMITS or _OF_SEARCH.fullmatch(name or ""):
            return False
        return item.info.get("only", connection.dialect.name) == connection.dialect.name

    options = {"compare_type": True, "compare_server_default": True, "include_object": is_meant}
    with warnings.catch_warnings():  # of SQLite, they cannot read what an index on an expression holds
        warnings.filterwarnings("ignore", ".*expression-based index '?ix_links_title")
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)


async def test_tables_equal_the_migrated_database(db: Database) -> None:
    load_tables()
    assert await db.run_sync(differences) == []
    tables = await db.run_sync(lambda connection: set(inspect(connection).get_table_names()))
    of_search = {name for name in tables if _OF_SEARCH.fullmatch(name)}
    assert bool(of_search) == (db.dialect == "sqlite")
    assert (_LIMITS in tables) == (db.dialect == "postgresql")
    assert tables - of_search - {"alembic_version", "sqlite_sequence", _LIMITS} == set(metadata.tables)


async def test_a_migrated_database_is_current(db: Database) -> None:
    present, newest_one = await pending(db)
    assert present == newest_one == newest()


def test_the_newest_revision_is_the_one_head() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS.parent))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [newest()]


def test_a_revision_s_file_begins_with_its_number() -> None:
    for path in MIGRATIONS.glob("[0-9]*.py"):
        module = importlib.import_module(f"waypost.database.migrations.versions.{path.stem}")
        assert path.name.startswith(f"{module.revision}_")
