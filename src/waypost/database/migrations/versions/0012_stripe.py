"""Whom Stripe knows an account as, and which of its events were heard."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id, Instant

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "stripe_customers",
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("customer_id", sa.Text, nullable=False, unique=True),
        sa.Column("ends_at", Instant),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
    )
    op.create_table(
        "stripe_events",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("received_at", Instant, nullable=False, index=True),
    )
