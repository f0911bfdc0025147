"""Index of imported totals by account, whose sum the overview shows."""

from alembic import op

revision = "0054"
down_revision = "0053"


def upgrade() -> None:
    op.create_index("ix_imported_clicks_account", "imported_clicks", ["account_id", "clicks"])
