"""Names of tables and columns that version 0.1.0 replaced by plainer ones. The rows stay where they are."""

from alembic import op

revision = "0025"
down_revision = "0024"

_TABLES: dict[str, str] = {}
_COLUMNS: dict[str, dict[str, str]] = {
    # by the new name of the table
    "domains": {"told_at": "notified_at"},
}
_VALUES: list[tuple[str, str, str, str]] = []
"""(table, column, old, new)"""


def upgrade() -> None:
    for before, after in _TABLES.items():
        op.rename_table(before, after)
    for table, columns in _COLUMNS.items():
        for before, after in columns.items():
            op.execute(f"ALTER TABLE {table} RENAME COLUMN {before} TO {after}")
    for table, column, before, after in _VALUES:
        op.execute(f"UPDATE {table} SET {column} = '{after}' WHERE {column} = '{before}'")  # noqa: S608  # constants
