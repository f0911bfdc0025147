"""What a visit was made by, and figures added up by day. Older clicks are kept; a job adds them up."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op
from uuid_utils.compat import uuid7

from waypost.database.types import Id, Instant, Json

revision = "0005"
down_revision = "0004"

_DAY = {"sqlite": "created_at / 86400000000", "postgresql": "floor(extract(epoch FROM created_at) / 86400)::int"}


def upgrade() -> None:
    _clicks()
    _figures()
    _copy_older()
    _counters()


def _clicks() -> None:
    op.rename_table("clicks", "older_clicks")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER INDEX pk_clicks RENAME TO pk_older_clicks")
    op.create_table(
        "clicks",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("link_id", Id, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("bot", sa.Text),
        sa.Column("is_scan", sa.Boolean, nullable=False),
        sa.Column("ip", sa.Text, nullable=False),
        sa.Column("country", sa.Text, nullable=False),
        sa.Column("visitor_id", sa.BigInteger, nullable=False),
        sa.Column("referrer", sa.Text, nullable=False),
        sa.Column("device", sa.Text, nullable=False),
        sa.Column("browser", sa.Text, nullable=False),
        sa.Column("platform", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_clicks_link", "clicks", ["day", "link_id", "created_at", "id", "kind"])
    op.create_index("ix_clicks_account", "clicks", ["day", "account_id", "created_at", "id", "kind"])


def _figures() -> None:
    counts = ("clicks", "crawlers", "previews", "prefetches", "scans", "visitors")
    of_visitors = ("new_in_15", "new_in_30", "new_in_45", "firsts", "lasts")
    op.create_table(
        "click_totals",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("subject_id", Id, primary_key=True),
        sa.Column("quarter", sa.SmallInteger, primary_key=True),
        *(sa.Column(name, sa.Integer, nullable=False, server_default="0") for name in (*counts, *of_visitors)),
        sa.Column("first_at", Instant),
        sa.Column("last_at", Instant),
        sqlite_with_rowid=False,
        postgresql_with={"fillfactor": 80},  # rows are updated where they lie while there is room
    )
    op.create_table(
        "click_dimensions",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("subject_id", Id, primary_key=True),
        sa.Column("dimension", sa.SmallInteger, primary_key=True),
        sa.Column("value", sa.Text, primary_key=True),
        sa.Column("clicks", sa.Integer, nullable=False, server_default="0"),
        sqlite_with_rowid=False,
        postgresql_with={"fillfactor": 80},  # rows are updated where they lie while there is room
    )
    op.create_table(
        "visitor_days",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("visitor_id", sa.BigInteger, primary_key=True),
        sa.Column("subject_id", Id, primary_key=True),
        sa.Column("morning", sa.BigInteger, nullable=False),
        sa.Column("afternoon", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
        postgresql_with={"fillfactor": 80},  # rows are updated where they lie while there is room
    )
    op.create_table(
        "click_retention",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kept_since", sa.Integer, nullable=False),
    )


def _copy_older() -> None:
    """Country and browser were not kept then; an address with a user agent was one visitor, of an account's day."""
    bind = op.get_bind()
    day = _DAY[bind.dialect.name]
    copied = bind.execute(
        sa.text(
            "INSERT INTO clicks (id, account_id, link_id, day, created_at, kind, is_scan, ip, country, visitor_id,"  # noqa: S608
            " referrer, device, browser, platform)"
            f" SELECT id, account_id, link_id, {day}, created_at, kind, is_scan, ip, '',"
            f" dense_rank() OVER (ORDER BY account_id, {day}, ip, user_agent), referrer, 'other', 'Other', 'Other'"
            " FROM older_clicks"
        )
    )
    if copied.rowcount:
        _add_them_up_later()
    op.drop_table("older_clicks")


def _counters() -> None:
    op.create_table(
        "link_clicks",
        sa.Column("link_id", Id, primary_key=True),
        sa.Column("clicks", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
        postgresql_with={"fillfactor": 80},  # rows are updated where they lie while there is room
    )
    op.execute("INSERT INTO link_clicks (link_id, clicks) SELECT id, clicks FROM links WHERE clicks > 0")
    op.drop_column("links", "clicks")


def _add_them_up_later() -> None:
    jobs = sa.table(
        "jobs",
        sa.column("id", Id),
        sa.column("name", sa.Text),
        sa.column("payload", Json),
        sa.column("attempts", sa.Integer),
        sa.column("max_attempts", sa.Integer),
        sa.column("run_at", Instant),
        sa.column("created_at", Instant),
    )
    at = datetime.now(UTC)
    job = {"id": uuid7(), "name": "clicks.rebuild", "payload": {}, "attempts": 0, "max_attempts": 8}
    op.bulk_insert(jobs, [job | {"run_at": at, "created_at": at}])
