"""A search finds few links among very many without reading each, on SQLite, too. Triggers keep the index in step.

It goes by numbers of its own: VACUUM may change those of rows whose key is something else.
"""
# ruff: noqa: S608  # the triggers are put together from constants of this file alone

import sqlite3

from alembic import op
from sqlalchemy.exc import OperationalError

from waypost.kit.errors import SettingsError

revision = "0019"
down_revision = "0018"

# without texts, and without places in them: what is found is compared with the links' own texts, whose case is folded
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
_FILL = (
    "INSERT INTO link_numbers (account_id, link_id) SELECT account_id, id FROM links ORDER BY created_at, id",
    """INSERT INTO link_trigrams (rowid, search_text)
    SELECT number, search_text FROM link_numbers JOIN links ON links.id = link_id WHERE deleted_at IS NULL
    ORDER BY number""",
)


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        return
    try:
        op.execute(_INDEX)
    except OperationalError as error:  # or it would be told as an outage
        needed = f"SQLite 3.34 or newer with FTS5 is needed. This Python has {sqlite3.sqlite_version}: {error.orig}"
        raise SettingsError(needed) from error
    for statement in (*_NUMBERS, *_FILL, *_TRIGGERS):
        op.execute(statement)
