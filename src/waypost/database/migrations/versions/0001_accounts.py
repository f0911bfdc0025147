"""Accounts and API keys."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id, Instant, Json

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", Id, primary_key=True),
        sa.Column("email", sa.String(254), nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("password_hash", sa.Text),
        sa.Column("plan_type", sa.Text, nullable=False),
        sa.Column("plan_status", sa.Text),
        sa.Column("trial_ends_at", Instant),
        sa.Column("renews_at", Instant),
        sa.Column("links_count", sa.Integer, nullable=False, server_default="0"),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("updated_at", Instant, nullable=False),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("prefix", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("scopes", Json, nullable=False),
        sa.Column("last_used_at", Instant),
        sa.Column("expires_at", Instant),
        sa.Column("revoked_at", Instant),
        sa.Column("created_at", Instant, nullable=False),
    )
