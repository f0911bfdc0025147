"""Clicks as drained from the spools, and how far each spool segment has been drained."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id, Instant

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "clicks",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("link_id", Id, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("is_scan", sa.Boolean, nullable=False),
        sa.Column("ip", sa.Text, nullable=False),
        sa.Column("user_agent", sa.Text, nullable=False),
        sa.Column("referrer", sa.Text, nullable=False),
        sa.Column("language", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "spool_positions",
        sa.Column("segment", sa.Text, primary_key=True),
        sa.Column("position", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
