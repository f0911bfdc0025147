"""Invitations to accounts, and offers of ownership."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, String, Text

from waypost.database import Id, Instant

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    op.create_table(
        "invitations",
        Column("id", Id, primary_key=True),
        Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("email", String(254)),
        Column("role", Text, nullable=False),
        Column("digest", String(64), nullable=False, unique=True),
        Column("created_by", Id, sa.ForeignKey("people.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("created_at", Instant, nullable=False),
        Column("expires_at", Instant, nullable=False),
        Column("ended_at", Instant),
    )
    op.create_table(
        "ownership_offers",
        Column("account_id", Id, sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
        Column("person_id", Id, sa.ForeignKey("people.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("offered_by", Id, sa.ForeignKey("people.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("role_after", Text, nullable=False),
        Column("created_at", Instant, nullable=False),
    )
