"""Add which reports by email have the links attached."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Boolean, Column

revision = "0081"
down_revision = "0080"


def upgrade() -> None:
    op.add_column("report_subscriptions", Column("attaches_links", Boolean, nullable=False, server_default=sa.false()))
