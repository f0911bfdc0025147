"""Suspended accounts, links that the operator disabled, and reports of abuse."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id, Instant

revision = "0045"
down_revision = "0044"

_IS_OPEN = sa.text("closed_at IS NULL")


def upgrade() -> None:
    op.add_column("accounts", sa.Column("suspended_at", Instant))
    op.add_column("accounts", sa.Column("suspended_reason", sa.Text))
    slug = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "disabled_links",
        sa.Column("link_id", Id, primary_key=True),
        sa.Column("slug", slug, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("was_enabled", sa.Boolean, nullable=False),
        sa.Column("disabled_at", Instant, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_disabled_links_slug", "disabled_links", ["slug"])
    op.create_table(
        "reported_links",
        sa.Column("link_id", Id, primary_key=True),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("reports", sa.Integer, nullable=False),
        sa.Column("mailed", sa.Integer, nullable=False),
        sa.Column("mailed_at", Instant),
        sa.Column("first_at", Instant, nullable=False),
        sa.Column("last_at", Instant, nullable=False),
        sa.Column("closed_at", Instant),
        sa.Column("outcome", sa.Text),
    )
    op.create_index(
        "ix_reported_links_open",
        "reported_links",
        ["last_at", "link_id"],
        sqlite_where=_IS_OPEN,
        postgresql_where=_IS_OPEN,
    )
    op.create_index("ix_reported_links_account_id", "reported_links", ["account_id"])
    op.create_table(
        "link_reports",
        sa.Column("id", Id, primary_key=True),
        sa.Column("link_id", Id, nullable=False, index=True),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("email", sa.Text),
        sa.Column("created_at", Instant, nullable=False),
    )
