"""Identities of people at an OpenID Connect provider, and sessions that began there."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id, Instant

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    op.create_table(
        "identities",
        sa.Column("person_id", Id, sa.ForeignKey("people.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("issuer", sa.Text, nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("used_at", Instant, nullable=False),
        sa.UniqueConstraint("issuer", "subject"),
    )
    op.create_table(
        "provider_sessions",
        sa.Column("session_id", Id, sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("issuer", sa.Text, nullable=False),
        sa.Column("subject", sa.String(255), nullable=False, index=True),
        sa.Column("id", sa.String(255), index=True),
        sa.Column("id_token", sa.Text, nullable=False),
    )
    op.add_column("memberships", sa.Column("by_groups", sa.Boolean, nullable=False, server_default=sa.false()))
