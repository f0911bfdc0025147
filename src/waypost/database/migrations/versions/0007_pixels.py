"""Retargeting pixels, and the links they are attached to."""

import sqlalchemy as sa
from alembic import op

from waypost.database.secrets import Encrypted
from waypost.database.types import Id, Instant

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "pixels",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("platform", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("pixel_id", Encrypted, nullable=False),
        sa.Column("access_token", Encrypted),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("updated_at", Instant, nullable=False),
    )
    op.create_index("ix_pixels_account", "pixels", ["account_id", "id"])
    op.create_table(
        "link_pixels",
        sa.Column("link_id", Id, primary_key=True),
        sa.Column("position", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("pixel_id", Id, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_link_pixels_pixel", "link_pixels", ["pixel_id", "link_id"])
