"""Webhook subscriptions and their deliveries."""

import sqlalchemy as sa
from alembic import op

from waypost.database.secrets import Encrypted
from waypost.database.types import Id, Instant, Json

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("event_types", Json, nullable=False),
        sa.Column("secret", Encrypted, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("updated_at", Instant, nullable=False),
    )
    op.create_index("ix_webhooks_account", "webhooks", ["account_id", "id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("webhook_id", Id, nullable=False),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("attempts", sa.SmallInteger, nullable=False),
        sa.Column("next_attempt_at", Instant),
        sa.Column("leased_until", Instant),
        sa.Column("response_status", sa.Integer),
        sa.Column("error", sa.Text),
        sa.Column("created_at", Instant, nullable=False),
    )
    _index("pending", ["webhook_id", "next_attempt_at", "id"], "status = 'pending'")
    _index("leased", ["webhook_id"], "leased_until IS NOT NULL")
    op.create_index("ix_webhook_deliveries_log", "webhook_deliveries", ["webhook_id", "id", "status", "event"])


def _index(name: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(
        f"ix_webhook_deliveries_{name}", "webhook_deliveries", columns, sqlite_where=where, postgresql_where=where
    )
