"""Imports that were requested in the dashboard, and the pieces of their files."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id, Instant, Json

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    op.create_table(
        "import_requests",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("url", sa.Text),
        sa.Column("token", sa.LargeBinary),
        sa.Column("has_clicks", sa.Boolean, nullable=False),
        sa.Column("timezone", sa.Text),
        sa.Column("domains", Json, nullable=False),
        sa.Column("file_name", sa.Text),
        sa.Column("file_size", sa.BigInteger),
        sa.Column("plan", Json, nullable=False),
        sa.Column("import_id", Id),
        sa.Column("message", sa.Text),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("updated_at", Instant, nullable=False),
    )
    op.create_index("ix_import_requests_account", "import_requests", ["account_id", "id"])
    op.create_table(
        "import_file_pieces",
        sa.Column("request_id", Id, sa.ForeignKey("import_requests.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("start", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
