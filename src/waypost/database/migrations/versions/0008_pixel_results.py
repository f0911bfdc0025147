"""What platforms said of the events sent to them."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id, Instant

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
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
