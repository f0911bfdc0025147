"""Name the queue of each job."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, SmallInteger, Text

revision = "0057"
down_revision = "0056"

_WAITING, _LEASED = sa.text("failed_at IS NULL"), sa.text("lease_until IS NOT NULL")
_LONG = "'imports.check_destinations', 'imports.turn', 'links.change_many', 'links.purge_deleted'"


def upgrade() -> None:
    op.drop_index("ix_jobs_waiting", "jobs")
    op.drop_column("jobs", "leased_by")
    op.add_column("jobs", Column("queue", Text, nullable=False, server_default="jobs"))
    op.add_column("jobs", Column("rank", SmallInteger, nullable=False, server_default="0"))
    op.execute(f"UPDATE jobs SET queue = 'long_jobs' WHERE name IN ({_LONG})")  # noqa: S608  # constants
    waiting = ["queue", "rank", "run_at", "id"]
    op.create_index("ix_jobs_waiting", "jobs", waiting, sqlite_where=_WAITING, postgresql_where=_WAITING)
    leased = ["queue", "lease_until"]
    op.create_index("ix_jobs_leased", "jobs", leased, sqlite_where=_LEASED, postgresql_where=_LEASED)
