"""Count the changes of tags, hostnames and UTM parameters of an account's links."""

import sqlalchemy as sa
from alembic import op

revision = "0060"
down_revision = "0059"


def upgrade() -> None:
    op.add_column("accounts", sa.Column("label_changes", sa.Integer, nullable=False, server_default="0"))
