"""The job table."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id, Instant, Json

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", Id, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("payload", Json, nullable=False),
        sa.Column("account_id", Id),
        sa.Column("run_at", Instant, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("max_attempts", sa.Integer, nullable=False),
        sa.Column("lease_until", Instant),
        sa.Column("leased_by", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("failed_at", Instant),
        sa.Column("created_at", Instant, nullable=False),
    )
    waiting = sa.text("failed_at IS NULL")
    op.create_index("ix_jobs_waiting", "jobs", ["run_at"], sqlite_where=waiting, postgresql_where=waiting)
