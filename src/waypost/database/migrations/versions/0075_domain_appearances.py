"""Add what the pages of a domain have of their own."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column

from waypost.database.tables import Id, Instant

revision = "0075"
down_revision = "0074"


def upgrade() -> None:
    op.create_table(
        "domain_appearances",
        Column("domain_id", Id, primary_key=True),
        *(Column(name, sa.Text) for name in ("name", "color", "not_found_text", "expired_text", "not_started_text")),
        Column("password_text", sa.Text),
        Column("updated_at", Instant, nullable=False),
    )
