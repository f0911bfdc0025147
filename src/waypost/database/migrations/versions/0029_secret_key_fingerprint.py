"""The fingerprint of the secret key, so that a node with another key refuses to start."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.create_table(
        "secret_key_fingerprint",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("fingerprint", sa.LargeBinary, nullable=False),
    )
