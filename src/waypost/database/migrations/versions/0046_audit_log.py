"""The audit log, and who made and changed a link."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id, Instant, Json

revision = "0046"
down_revision = "0045"


def upgrade() -> None:
    op.create_table(
        "audit_entries",
        sa.Column("account_id", Id, primary_key=True),
        sa.Column("id", Id, primary_key=True),
        sa.Column("at", Instant, nullable=False),
        sa.Column("actor_type", sa.Text, nullable=False),
        sa.Column("actor_id", Id),
        sa.Column("actor_name", sa.Text, nullable=False),
        sa.Column("ip", sa.Text),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("item_id", Id),
        sa.Column("item", sa.Text, nullable=False),
        sa.Column("changes", Json),
        sa.Column("details", Json),
        sqlite_with_rowid=False,
    )
    for name in ("actor_id", "action", "item_id"):
        op.create_index(f"ix_audit_entries_{name}", "audit_entries", ["account_id", name, "id"])
    for name in ("created_by", "changed_by"):
        op.add_column("links", sa.Column(name, sa.Text))
    for table in ("imports", "import_requests"):
        op.add_column(table, sa.Column("actor", Json))
