"""Trigram indexes, so that a search reads few of very many links.

PostgreSQL uses pg_trgm where it is available. SQLite uses an FTS5 table that triggers keep current. It has row numbers
of its own: VACUUM may change those of a table whose key is something else.
"""
# ruff: noqa: S608  # the triggers consist of constants of this file

import sqlite3

import sqlalchemy as sa
import structlog
from alembic import op
from sqlalchemy.exc import DBAPIError, OperationalError

from waypost.kit.errors import SettingsError

log = structlog.get_logger(__name__)

# without texts and positions: what is found is compared with the links' own texts, whose case is folded
_INDEX = """CREATE VIRTUAL TABLE link_trigrams
    USING fts5(search_text, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1')"""
_NUMBERS = (
    "CREATE TABLE link_numbers (number INTEGER NOT NULL PRIMARY KEY, account_id BLOB NOT NULL, link_id BLOB NOT NULL)",
    "CREATE UNIQUE INDEX uq_link_numbers_link_id ON link_numbers (link_id)",
    "INSERT INTO link_trigrams (link_trigrams, rank) VALUES ('automerge', 16)",  # writes half as much as with 4
)
_ADD = """INSERT INTO link_trigrams (rowid, search_text)
    SELECT number, NEW.search_text FROM link_numbers WHERE link_id = NEW.id AND NEW.deleted_at IS NULL;"""
_REMOVE = """INSERT INTO link_trigrams (link_trigrams, rowid, search_text)
    SELECT 'delete', number, OLD.search_text FROM link_numbers WHERE link_id = OLD.id AND OLD.deleted_at IS NULL;"""
_TRIGGERS = (
    f"""CREATE TRIGGER link_trigrams_of_new AFTER INSERT ON links BEGIN
    INSERT INTO link_numbers (account_id, link_id) VALUES (NEW.account_id, NEW.id);
    {_ADD}
    END""",
    f"""CREATE TRIGGER link_trigrams_of_changed AFTER UPDATE OF search_text, deleted_at ON links
    WHEN OLD.search_text <> NEW.search_text OR OLD.deleted_at IS NOT NEW.deleted_at BEGIN
    {_REMOVE}
    {_ADD}
    END""",
    f"""CREATE TRIGGER link_trigrams_of_gone AFTER DELETE ON links BEGIN
    {_REMOVE}
    DELETE FROM link_numbers WHERE link_id = OLD.id;
    END""",
)


def create() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _create_on_sqlite()
    else:
        _create_on_postgresql()


def _create_on_sqlite() -> None:
    try:
        op.execute(_INDEX)
    except OperationalError as error:  # otherwise it would be reported as an outage
        needed = f"SQLite 3.34 or newer with FTS5 is needed. This Python has {sqlite3.sqlite_version}: {error.orig}"
        raise SettingsError(needed) from error
    for statement in (*_NUMBERS, *_TRIGGERS):
        op.execute(statement)


def _create_on_postgresql() -> None:
    try:
        with op.get_bind().begin_nested():
            op.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            op.create_index(
                "ix_links_trigrams",
                "links",
                ["search_text"],
                postgresql_using="gin",
                postgresql_ops={"search_text": "gin_trgm_ops"},
                postgresql_with={"fastupdate": "off"},
                postgresql_where=sa.text("deleted_at IS NULL"),
            )
    except DBAPIError as error:  # not installed, not allowed, or in a schema outside the search path
        log.warning("pg_trgm_missing", reason=str(error.orig).strip(), hint="see docs/operate/scaling.md, PostgreSQL")
