"""Events on their way to platforms, and what became of those that arrived there."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id, Instant

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "pixel_events",
        sa.Column("id", Id, primary_key=True),
        sa.Column("pixel_id", Id, nullable=False),
        sa.Column("platform", sa.Text, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
    )
    op.create_index("ix_pixel_events_pixel", "pixel_events", ["pixel_id", "id"])
    op.create_table(
        "pixel_lots",
        sa.Column("pixel_id", Id, primary_key=True),
        sa.Column("last_event", Id, nullable=False),
        sa.Column("attempts", sa.SmallInteger, nullable=False),
        sa.Column("next_attempt_at", Instant, nullable=False),
        sa.Column("leased_until", Instant),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_pixel_lots_lease", "pixel_lots", ["leased_until"])
    op.create_table(
        "pixel_results",
        sa.Column("pixel_id", Id, sa.ForeignKey("pixels.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("sent", sa.BigInteger, nullable=False),
        sa.Column("rejected", sa.BigInteger, nullable=False),
        sa.Column("dropped", sa.BigInteger, nullable=False),
        sa.Column("sent_at", Instant),
        sa.Column("reason", sa.Text),
        sa.Column("reason_at", Instant),
    )
