"""Whether the last authentication of a session was at an identity provider: unknown, so no, for those that exist."""

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0052"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("by_provider", sa.Boolean, nullable=False, server_default=sa.false()))
