"""Jobs count the attempts in a row whose process died."""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("deaths", sa.Integer, nullable=False, server_default="0"))
