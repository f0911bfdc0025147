"""Rolling upgrades: which schemas of newer versions this one works on, and that migrations only add to a schema."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, inspect, text
from test_cli import Waypost

from waypost.commands.database import SchemaBehind, open_database
from waypost.database import Database
from waypost.database.migrations import _config
from waypost.database.schema import COMPATIBLE_SINCE, SchemaUnknown, find_problems, is_usable, newest, revisions
from waypost.settings import Settings


async def set_version(db: Database, revision: str, compatible_since: str | None) -> None:
    values = {"revision": revision, "since": compatible_since}
    async with db.write() as tx:
        await tx.execute(text("UPDATE alembic_version SET version_num = :revision, compatible_since = :since"), values)


async def test_a_migrated_database_names_the_oldest_compatible_schema(db: Database) -> None:
    async with db.read() as tx:
        [since] = (await tx.execute(text("SELECT compatible_since FROM alembic_version"))).one()
    assert since == COMPATIBLE_SINCE <= newest()
    assert await is_usable(db)


async def test_a_newer_schema_that_only_added_is_used(db: Database, tmp_path: Path) -> None:
    await set_version(db, "9999", newest())
    assert await is_usable(db)
    assert await find_problems(db) == []
    async with open_database(Settings(data_dir=tmp_path, database_url=db.url)):
        pass


@pytest.mark.parametrize("compatible_since", [newest(), "9998", None])
async def test_migrate_leaves_a_newer_schema_that_serve_accepts(
    db: Database, tmp_path: Path, compatible_since: str | None
) -> None:
    """Before each start of a node, also in a rolling upgrade. On SQLite, both refuse it."""
    await set_version(db, "9999", compatible_since)
    is_usable_here = db.dialect == "postgresql" and compatible_since == newest()
    done = Waypost(tmp_path)("migrate", code=0 if is_usable_here else 1, WAYPOST_DATABASE_URL=db.url)
    expected = "The schema is 9999 of a newer version, and works with this one. Nothing was changed.\n"
    assert (done.stderr == expected) == is_usable_here, done.stderr
    assert is_usable_here or "9999 of a newer version of Waypost: run that version" in done.stderr
    async with db.read() as tx:
        [version] = await tx.execute(text("SELECT version_num, compatible_since FROM alembic_version"))
    assert tuple(version) == ("9999", compatible_since)


@pytest.mark.parametrize("compatible_since", ["9998", None])
async def test_a_newer_schema_that_removed_is_refused(db: Database, tmp_path: Path, compatible_since: str) -> None:
    await set_version(db, "9999", compatible_since)
    with pytest.raises(SchemaUnknown, match="9999 of a newer version of Waypost: run that version"):
        await is_usable(db)
    assert "9999" in (await find_problems(db))[0]
    with pytest.raises(SchemaUnknown):
        async with open_database(Settings(data_dir=tmp_path, database_url=db.url)):
            pass


async def test_an_older_schema_has_to_be_migrated(db: Database, tmp_path: Path) -> None:
    await set_version(db, min(revisions()), None)
    assert not await is_usable(db)
    with pytest.raises(SchemaBehind):
        async with open_database(Settings(data_dir=tmp_path, database_url=db.url)):
            pass


@dataclass(frozen=True)
class Schema:
    columns: dict[str, dict[str, Any]]
    """Column by name, by table."""
    unique: dict[str, set[tuple[str | None, ...]]]

    @classmethod
    def of(cls, connection: Connection) -> "Schema":
        inspector = inspect(connection)
        tables = [name for name in inspector.get_table_names() if name != "alembic_version"]
        return cls(
            {table: {column["name"]: column for column in inspector.get_columns(table)} for table in tables},
            {
                table: {tuple(index["column_names"]) for index in inspector.get_indexes(table) if index["unique"]}
                for table in tables
            },
        )


def breaks(before: Schema, after: Schema) -> list[str]:
    """What a version that knows the schema `before` cannot do any more."""
    found = [f"table {table} is missing" for table in before.columns.keys() - after.columns.keys()]
    for table in before.columns.keys() & after.columns.keys():
        old, new = before.columns[table], after.columns[table]
        found += [f"column {table}.{name} is missing" for name in old.keys() - new.keys()]
        for name in old.keys() & new.keys():
            if str(old[name]["type"]) != str(new[name]["type"]) or (
                old[name]["nullable"] and not new[name]["nullable"]
            ):
                found.append(f"column {table}.{name} has changed")
        for name in new.keys() - old.keys():
            if not new[name]["nullable"] and new[name]["default"] is None:
                found.append(f"column {table}.{name} needs a value that the version before does not insert")
        found += [
            f"rows of {table} must be unique by {columns}"
            for columns in after.unique[table] - before.unique[table]
            if old.keys() >= {*columns}  # a new column is null in its rows
        ]
    return sorted(found)


async def test_migrations_only_add(empty_database: Database) -> None:
    """One that removes sets COMPATIBLE_SINCE to a revision since which nothing uses what it removes."""
    found = await empty_database.run_sync(_breaks_of_migrations)
    assert {revision: texts for revision, texts in found.items() if texts and revision > COMPATIBLE_SINCE} == {}


def _breaks_of_migrations(connection: Connection) -> dict[str, list[str]]:
    config = _config(connection=connection)
    first, *later = sorted(revisions())
    command.upgrade(config, first)
    found, before = {}, Schema.of(connection)
    for revision in later:
        command.upgrade(config, revision)
        after = Schema.of(connection)
        found[revision], before = breaks(before, after), after
    return found


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("CREATE TABLE notes (id INTEGER PRIMARY KEY)", []),
        ("ALTER TABLE links ADD COLUMN remark TEXT", []),
        ("ALTER TABLE links ADD COLUMN remark TEXT NOT NULL DEFAULT ''", []),
        ("CREATE INDEX ix_links_note ON links (title)", []),
        ("CREATE UNIQUE INDEX ix_links_note ON links (title)", ["rows of links must be unique by ('title',)"]),
        ("DROP TABLE link_tags", ["table link_tags is missing"]),
        ("ALTER TABLE links DROP COLUMN og_title", ["column links.og_title is missing"]),
        (
            "ALTER TABLE links RENAME COLUMN og_title TO preview_title",
            ["column links.og_title is missing"],
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index")
async def test_finds_what_breaks_the_version_before(db: Database, statement: str, expected: list[str]) -> None:
    def breaks_of(connection: Connection) -> list[str]:
        before = Schema.of(connection)
        with connection.begin_nested() as changed:
            connection.execute(text(statement))
            found = breaks(before, Schema.of(connection))
            changed.rollback()
        return found

    assert await db.run_sync(breaks_of) == expected
