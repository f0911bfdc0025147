"""A database of commit d3574ac, the last one before the baseline, is migrated to the schema of a new one.

`baseline/` was made by that commit: a data directory of its `waypost serve`, and a `pg_dump --schema-only`.
"""

import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from conftest import PostgresServer
from sqlalchemy import text

from waypost.database import Database
from waypost.database.migrations import migrate
from waypost.database.schema import SchemaUnknown, newest
from waypost.kit.errors import SettingsError

BEFORE = Path(__file__).parent / "baseline"
CATALOGS = (
    """SELECT c.relname, c.relkind, c.reloptions FROM pg_class c WHERE relnamespace = 'public'::regnamespace""",
    """SELECT c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
        pg_get_expr(d.adbin, d.adrelid), a.attcollation::regcollation::text
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0""",
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


async def migrate_to_newest(url: str) -> None:
    db = Database(url)
    await migrate(db)
    await db.close()


@pytest.fixture
def empty_database(postgres: PostgresServer) -> Iterator[str]:
    name = f"test_{uuid4().hex}"
    postgres.sql(f"CREATE DATABASE {name}")
    yield name
    postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


async def test_migrates_to_the_same_schema_on_sqlite(sqlite_template: Path, tmp_path: Path) -> None:
    subprocess.run(["tar", "-xf", BEFORE / "data.tar.gz", "-C", tmp_path, "waypost.db"], check=True)
    await migrate_to_newest(f"sqlite:///{tmp_path}/waypost.db")
    before, after = sqlite_schema(tmp_path / "waypost.db"), sqlite_schema(sqlite_template)
    assert len(before) > 100
    assert before == after


async def test_migrates_to_the_same_schema_on_postgresql(
    postgres: PostgresServer, postgres_template: str, empty_database: str
) -> None:
    postgres.sql((BEFORE / "postgresql.sql").read_text(), empty_database)
    postgres.sql("INSERT INTO public.alembic_version VALUES ('0024')", empty_database)  # a schema has no rows
    await migrate_to_newest(postgres.url(empty_database))
    before = postgresql_schema(postgres, empty_database)
    assert len(before[1]) > 200
    assert before == postgresql_schema(postgres, postgres_template)


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("0023", r"too old for this version: run `waypost migrate` of commit d3574ac first"),
        ("9999", r"a newer version of Waypost: run that version"),
    ],
)
async def test_refuses_an_unknown_schema(db: Database, revision: str, message: str) -> None:
    async with db.write() as tx:
        await tx.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    with pytest.raises(SchemaUnknown, match=message):
        await migrate(db)


async def test_leaves_a_current_database_unchanged(db: Database) -> None:
    assert await migrate(db) == (newest(), newest())


async def test_requires_the_trigram_tokenizer_of_sqlite(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path}/waypost.db")
    async with db.write() as tx:
        await tx.execute(text("CREATE TABLE link_trigrams (existing INTEGER)"))  # fails as a missing module does
    with pytest.raises(SettingsError, match=re.escape("SQLite 3.34 or newer with FTS5 is needed")):
        await migrate(db)
    await db.close()
