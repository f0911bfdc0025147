"""Add the width of a QR code in print."""

import sqlalchemy as sa
from alembic import op

revision = "0074"
down_revision = "0073"


def upgrade() -> None:
    column = sa.Column("width_mm", sa.SmallInteger, nullable=False, server_default=sa.text("40"))
    op.add_column("qr_styles", column)
