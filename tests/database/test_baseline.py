"""Schemas that are refused: older than the baseline, or of a newer version. Those of releases: `test_releases.py`."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from conftest import PostgresServer
from sqlalchemy import text

from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.database.schema import SchemaUnknown, newest
from waypost.kit.errors import SettingsError

CATALOGS = (
    """SELECT c.relname, c.relkind, c.reloptions FROM pg_class c WHERE relnamespace = 'public'::regnamespace""",
    """SELECT c.relname, row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum), a.attname,
        format_type(a.atttypid, a.atttypmod), a.attnotnull,
        pg_get_expr(d.adbin, d.adrelid), a.attcollation::regcollation::text
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped""",
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
    """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace""",
    "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    "SELECT sequencename, data_type::text, cycle FROM pg_sequences",
)


def sqlite_schema(path: Path) -> set[tuple[str, str, tuple[str, ...]]]:
    """Without line breaks, quotes and the order of constraints, which ALTER TABLE leaves in any form."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master").fetchall()
    return {(type_, name, _statement(sql)) for type_, name, sql in rows}


def _statement(sql: str) -> tuple[str, ...]:
    columns, *constraints = " ".join(sql.replace('"', "").split()).split(", CONSTRAINT ")
    return columns, *sorted(each.removesuffix(" )") for each in constraints)


def postgresql_schema(postgres: PostgresServer, database: str) -> list[set[str]]:
    return [{str(row) for row in postgres.sql(query, database)} for query in CATALOGS]


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("0054", r"too old for this version: run `waypost migrate` of commit 2edbd7bb first"),
        ("9999", r"a newer version of Waypost: run that version"),
    ],
)
async def test_refuses_an_unknown_schema(db: Database, revision: str, message: str) -> None:
    async with db.write() as tx:
        await tx.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    with pytest.raises(SchemaUnknown, match=message):
        await migrate(db)
    async with db.read() as tx:
        assert await tx.scalar(text("SELECT version_num FROM alembic_version")) == revision


async def test_leaves_a_current_database_unchanged(db: Database) -> None:
    assert await migrate(db) == (newest(), newest())


async def test_requires_the_trigram_tokenizer_of_sqlite(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/waypost.db")
    async with db.write() as tx:
        await tx.execute(text("CREATE TABLE link_trigrams (existing INTEGER)"))  # fails as a missing module does
    with pytest.raises(SettingsError, match=re.escape("SQLite 3.34 or newer with FTS5 is needed")):
        await migrate(db)
    await db.close()
