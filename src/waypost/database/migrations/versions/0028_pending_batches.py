"""The end of a batch of clicks that is being inserted into ClickHouse."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.add_column("spool_positions", sa.Column("pending_end", sa.BigInteger))
