"""Add which domain new links start on."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Boolean, Column

revision = "0080"
down_revision = "0079"


def upgrade() -> None:
    op.add_column("domains", Column("is_default", Boolean, nullable=False, server_default=sa.false()))
