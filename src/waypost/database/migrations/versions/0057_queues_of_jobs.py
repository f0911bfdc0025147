"""Name the queue of each job. Domains are checked, and the events of pixels sent, by jobs with their ids."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, Integer, SmallInteger, Text

from waypost.database.tables import Id, Instant, Json

revision = "0057"
down_revision = "0056"

_WAITING, _LEASED = sa.text("failed_at IS NULL"), sa.text("lease_until IS NOT NULL")
_LONG = "'imports.check_destinations', 'imports.turn', 'links.change_many', 'links.purge_deleted'"

_jobs = sa.table(
    "jobs",
    *(sa.column(name, Id) for name in ("id", "account_id")),
    *(sa.column(name, Text) for name in ("queue", "name")),
    sa.column("payload", Json),
    *(sa.column(name, Instant) for name in ("run_at", "created_at")),
    *(sa.column(name, Integer) for name in ("rank", "attempts", "max_attempts")),
)
_pixels = sa.table("pixels", sa.column("id", Id), sa.column("account_id", Id), sa.column("platform", Text))
_batches = sa.table(
    "pixel_batches",
    *(sa.column(name, Id) for name in ("pixel_id", "last_event")),
    sa.column("attempts", Integer),
    sa.column("next_attempt_at", Instant),
)
_domains = sa.table(
    "domains",
    *(sa.column(name, Id) for name in ("id", "account_id")),
    sa.column("status", Text),
    sa.column("check_at", Instant),
)


def upgrade() -> None:
    op.drop_index("ix_jobs_waiting", "jobs")
    op.drop_column("jobs", "leased_by")
    op.add_column("jobs", Column("queue", Text, nullable=False, server_default="jobs"))
    op.add_column("jobs", Column("rank", SmallInteger, nullable=False, server_default="0"))
    op.execute(f"UPDATE jobs SET queue = 'long_jobs' WHERE name IN ({_LONG})")  # noqa: S608  # constants
    waiting = ["queue", "rank", "run_at", "id", "name", "account_id", "attempts", "lease_until"]
    op.create_index("ix_jobs_waiting", "jobs", waiting, sqlite_where=_WAITING, postgresql_where=_WAITING)
    leased = ["queue", "lease_until"]
    op.create_index("ix_jobs_leased", "jobs", leased, sqlite_where=_LEASED, postgresql_where=_LEASED)
    _move_pixel_batches()
    _move_checks()


def _move_pixel_batches() -> None:
    query = sa.select(_pixels.c.account_id, _pixels.c.platform, *_batches.c).join_from(
        _batches, _pixels, _pixels.c.id == _batches.c.pixel_id
    )
    op.bulk_insert(
        _jobs,
        [
            {
                "id": row.pixel_id,
                "queue": "pixel_events",
                "rank": 0,
                "name": f"pixels.send_to_{row.platform}",
                "payload": {"last_event": str(row.last_event)},
                "account_id": row.account_id,
                "run_at": row.next_attempt_at,
                "created_at": row.next_attempt_at,
                "attempts": row.attempts,
                "max_attempts": 8,
            }
            for row in op.get_bind().execute(query.where(_pixels.c.platform.in_(["facebook", "tiktok", "pinterest"])))
        ],
    )
    op.drop_table("pixel_batches")


def _move_checks() -> None:
    query = sa.select(_domains).where(_domains.c.check_at.is_not(None))
    op.bulk_insert(
        _jobs,
        [
            {
                "id": row.id,
                "queue": "domain_checks",
                "rank": int(row.status != "verifying"),
                "name": "domains.check",
                "payload": {},
                "account_id": row.account_id,
                "run_at": row.check_at,
                "created_at": row.check_at,
                "attempts": 0,
                "max_attempts": 1 << 30,
            }
            for row in op.get_bind().execute(query)
        ],
    )
    op.drop_index("ix_domains_due", "domains")
    op.drop_index("ix_domains_leased", "domains")
    op.drop_column("domains", "check_at")
    op.drop_column("domains", "leased_until")
