"""Add the health of links, and when each was last clicked."""

from alembic import op
from sqlalchemy import Column, Integer, PrimaryKeyConstraint, Text, text

from waypost.database.tables import Id, Instant, Json

revision = "0070"
down_revision = "0069"


def upgrade() -> None:
    op.create_table(
        "link_health",
        Column("link_id", Id, nullable=False),
        Column("account_id", Id, nullable=False),
        Column("status", Text, nullable=False),
        Column("due_at", Instant, nullable=False),
        Column("checked_at", Instant),
        Column("http_status", Integer),
        Column("reason", Text),
        Column("since", Instant),
        Column("failures", Integer, nullable=False),
        Column("gone_days", Integer, nullable=False),
        Column("held", Json),
        PrimaryKeyConstraint("link_id", name="pk_link_health"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_link_health_due", "link_health", ["due_at", "account_id", "link_id"])
    op.create_index("ix_link_health_status", "link_health", ["account_id", "status", "link_id"])
    held = text("held IS NOT NULL")
    op.create_index("ix_link_health_held", "link_health", ["link_id"], sqlite_where=held, postgresql_where=held)
    op.add_column("link_clicks", Column("last_click_at", Instant))
