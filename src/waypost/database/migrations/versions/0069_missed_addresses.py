"""Add addresses that people tried and that do not exist."""

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, Text

from waypost.database.tables import Id, Instant

revision = "0069"
down_revision = "0068"

_PATH = Text().with_variant(Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "missed_addresses",
        Column("domain_id", Id, nullable=False),
        Column("day", Integer, nullable=False),
        Column("path", _PATH, nullable=False),
        Column("visits", BigInteger, nullable=False),
        Column("first_at", Instant, nullable=False),
        Column("last_at", Instant, nullable=False),
        PrimaryKeyConstraint("domain_id", "day", "path", name="pk_missed_addresses"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_missed_addresses_day", "missed_addresses", ["day"])
