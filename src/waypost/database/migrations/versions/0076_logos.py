"""Add logos, and the looks of QR codes that show them."""

from alembic import op
from sqlalchemy import Boolean, Column, Double, LargeBinary, PrimaryKeyConstraint, SmallInteger, Text, UniqueConstraint
from sqlalchemy import false as no

from waypost.database.tables import Id, Instant

revision = "0076"
down_revision = "0075"


def upgrade() -> None:
    op.create_table(
        "logos",
        Column("owner_id", Id, nullable=False),
        Column("account_id", Id, nullable=False),
        Column("name", Text, nullable=False),
        Column("width", SmallInteger, nullable=False),
        Column("height", SmallInteger, nullable=False),
        Column("color", Text),
        Column("content", LargeBinary, nullable=False),
        Column("updated_at", Instant, nullable=False),
        PrimaryKeyConstraint("owner_id", name="pk_logos"),
        UniqueConstraint("name", name="uq_logos_name"),
    )
    op.create_index("ix_logos_account_id", "logos", ["account_id"])
    for column in (
        Column("logo", Boolean, nullable=False, server_default=no()),
        Column("logo_size", Double, nullable=False, server_default="0.22"),
        Column("frame", Text, nullable=False, server_default="none"),
        Column("frame_text", Text, nullable=False, server_default="SCAN ME"),
    ):
        op.add_column("qr_styles", column)
