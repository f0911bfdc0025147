"""Uploaded images as rows, for several nodes on one PostgreSQL. On SQLite the table stays empty."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Instant

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.create_table(
        "link_images",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE link_images ALTER COLUMN content SET STORAGE EXTERNAL")  # images are compressed already
        where = sa.text("og_image_file_name IS NOT NULL")
        op.create_index("ix_links_image", "links", ["og_image_file_name"], postgresql_where=where)
