"""Rate limits that nodes share. SQLite keeps them in files."""

from alembic import op

revision = "0027"
down_revision = "0026"

# unlogged: requests of a minute are worth no disk access
# plain storage: the largest row has 600 times, 5 KB, and compressing it would take longer than everything else
# half-filled pages: PostgreSQL updates rows in place
_TABLE = """
CREATE UNLOGGED TABLE rate_limits (
  key bytea CONSTRAINT pk_rate_limits PRIMARY KEY,
  times timestamptz[] NOT NULL,
  allowed smallint NOT NULL
) WITH (fillfactor = 50)
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_TABLE)
        op.execute("ALTER TABLE rate_limits ALTER COLUMN times SET STORAGE PLAIN")
