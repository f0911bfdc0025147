"""What a webhook's receiver said last of a delivery, also where it took it."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("webhook_deliveries", sa.Column("answer", sa.Text))
