"""Imported links whose destinations are to be checked, and those that were unreachable."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id, Instant

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    op.create_table(
        "import_checks",
        sa.Column("link_id", Id, primary_key=True),
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("problem", sa.Text),
        sa.Column("checked_at", Instant),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_import_checks_account", "import_checks", ["account_id", "checked_at", "link_id"])
