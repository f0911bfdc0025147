"""The most clicked values of long periods are kept, so that nobody adds them up anew for each look at them."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "click_leaders",
        sa.Column("subject_id", Id, primary_key=True),
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("first_day", sa.Integer, nullable=False),
        sa.Column("last_day", sa.Integer, nullable=False),
        sa.Column("clicks", sa.BigInteger, nullable=False),
        sa.Column("leaders", sa.Text, nullable=False),
        sa.Column("attempt", Id, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_click_leaders_account_id", "click_leaders", ["account_id"])
