"""Who is signed in, and one-time links that let people in, confirm an address or set a new password."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id, Instant

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", Id, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("user_agent", sa.Text, nullable=False),
        sa.Column("ip", sa.Text, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("seen_at", Instant, nullable=False),
        sa.Column("expires_at", Instant, nullable=False, index=True),
    )
