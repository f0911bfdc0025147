"""Add shares of statistics."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column

from waypost.database.secrets import Encrypted
from waypost.database.tables import Id, Instant, Json

revision = "0062"
down_revision = "0061"


def upgrade() -> None:
    op.create_table(
        "shares",
        Column("id", Id, primary_key=True, autoincrement=False),
        Column("account_id", Id, nullable=False),
        Column("name", sa.Text, nullable=False),
        Column("link_id", Id),
        Column("tag", sa.Text),
        Column("hostname", sa.Text),
        Column("filters", Json, nullable=False),
        Column("range_start", Instant),
        Column("range_end", Instant),
        Column("expires_at", Instant),
        Column("hide_below", sa.SmallInteger, nullable=False),
        Column("embed_origins", Json, nullable=False),
        Column("token", Encrypted, nullable=False),
        Column("token_digest", sa.String(64), nullable=False, unique=True),
        Column("password_hash", sa.Text),
        Column("access_version", sa.BigInteger, nullable=False),
        Column("created_at", Instant, nullable=False),
        Column("updated_at", Instant, nullable=False),
    )
    op.create_index("ix_shares_account", "shares", ["account_id", "id"])
    op.create_index("ix_shares_link", "shares", ["link_id"])
