"""Bytes of hosted images, by link and by account, so that there can be a limit. Existing images count as nothing."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("links", sa.Column("og_image_bytes", sa.Integer, nullable=False, server_default="0"))
    op.add_column("accounts", sa.Column("image_bytes", sa.BigInteger, nullable=False, server_default="0"))
