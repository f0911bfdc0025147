"""The deduplication token of a pending batch: ranges that are pending together can be of several batches."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    op.add_column("spool_positions", sa.Column("pending_token", sa.Text))
