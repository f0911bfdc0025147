"""Changes of many links from the dashboard, and the deleted links that can be restored."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id, Instant, Json

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    op.create_table(
        "bulk_changes",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("payload", Json, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("total", "done", "changed")),
        sa.Column("refused", Json, nullable=False),
        sa.Column("refused_count", sa.Integer, nullable=False),
        sa.Column("cursor", Json),
        sa.Column("step", Json),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("finished_at", Instant),
    )
    op.create_index("ix_bulk_changes_newest", "bulk_changes", ["account_id", "created_at", "id"])
    op.create_table(
        "deleted_links",
        sa.Column("bulk_change_id", Id, primary_key=True),
        sa.Column("link_id", Id, primary_key=True),
        sqlite_with_rowid=False,
    )
