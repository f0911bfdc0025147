"""A cache of the values of hours, for lists whose time range begins or ends within a busy day."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id

revision = "0051"
down_revision = "0050"


def upgrade() -> None:
    op.create_table(
        "hour_values_cache",
        sa.Column("subject_id", Id, primary_key=True),
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("hour", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
        sa.Column("clicks", sa.Integer, nullable=False),
        sa.Column("value_counts", sa.Text, nullable=False),
    )
