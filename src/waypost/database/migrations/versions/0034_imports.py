"""Imports: their state and report, which link is which at its source, routing for later, and totals of clicks."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id, Instant, Json

revision = "0034"
down_revision = "0033"


def _account() -> "sa.Column[object]":
    return sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False)


def upgrade() -> None:
    op.create_table(
        "imports",
        sa.Column("id", Id, primary_key=True),
        _account(),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("options", Json, nullable=False),
        sa.Column("token", sa.LargeBinary),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("cursor", Json),
        sa.Column("counts", Json, nullable=False),
        sa.Column("warnings", Json, nullable=False),
        sa.Column("total", sa.Integer),
        sa.Column("error", sa.Text),
        sa.Column("lease_until", Instant),
        sa.Column("leased_by", sa.Text),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("updated_at", Instant, nullable=False),
    )
    op.create_index("ix_imports_account", "imports", ["account_id", "created_at", "id"])
    op.create_table(
        "import_refusals",
        sa.Column("import_id", Id, sa.ForeignKey("imports.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("source_id", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "imported_links",
        _account(),
        sa.Column("key", Id, nullable=False),
        sa.Column("link_id", Id, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("account_id", "key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "imported_routing",
        sa.Column("link_id", Id, primary_key=True),
        _account(),
        sa.Column("routing", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_imported_routing_account_id", "imported_routing", ["account_id"])
    op.create_table(
        "imported_clicks",
        sa.Column("link_id", Id, primary_key=True),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("clicks", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
