"""Add what workers report to operators."""

from alembic import op
from sqlalchemy import Column, Text

from waypost.database import Instant, Json

revision = "0078"
down_revision = "0077"


def upgrade() -> None:
    op.create_table(
        "service_reports",
        Column("kind", Text, primary_key=True),
        Column("node", Text, nullable=False),
        Column("at", Instant, nullable=False),
        Column("content", Json, nullable=False),
    )
