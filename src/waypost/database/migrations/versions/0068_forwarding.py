"""Add what links forward of the visitor's address, and the defaults of domains."""

import sqlalchemy as sa
from alembic import op

revision = "0068"
down_revision = "0067"


def upgrade() -> None:
    for table in ("links", "domain_options"):
        op.add_column(table, sa.Column("forward_query", sa.Text))
        op.add_column(table, sa.Column("forward_path", sa.Boolean))
