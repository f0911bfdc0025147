"""Answers of API requests with an Idempotency-Key."""

import sqlalchemy as sa
from alembic import op

from waypost.database.tables import Id, Instant

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("request_id", Id, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("lease_until", Instant),
        sa.Column("status", sa.SmallInteger),
        sa.Column("answer", sa.LargeBinary),
        sa.Column("answer_bytes", sa.Integer, nullable=False, server_default="0"),
        sa.Column("created_at", Instant, nullable=False),
        sa.UniqueConstraint("account_id", "key"),
    )
    op.create_index("ix_idempotency_keys_created_at", "idempotency_keys", ["created_at"])
    op.create_index("ix_idempotency_keys_share", "idempotency_keys", ["account_id", "answer_bytes"])
