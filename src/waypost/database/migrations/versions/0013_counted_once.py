"""What counts once: a payment for ever, and an address's trial."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id, Instant

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "stripe_checkouts",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("counted_at", Instant, nullable=False),
    )
    op.create_table(
        "left_addresses",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("trial_ends_at", Instant, nullable=False),
        sa.Column("left_at", Instant, nullable=False, index=True),
    )
