"""Add campaign templates."""

from alembic import op
from sqlalchemy import Column, PrimaryKeyConstraint, Text, UniqueConstraint

from waypost.database.tables import Id, Instant, Json

revision = "0065"
down_revision = "0064"


def upgrade() -> None:
    op.create_table(
        "utm_templates",
        Column("id", Id, nullable=False),
        Column("account_id", Id, nullable=False),
        Column("name", Text, nullable=False),
        Column("utm_params", Json, nullable=False),
        Column("created_at", Instant, nullable=False),
        Column("updated_at", Instant, nullable=False),
        PrimaryKeyConstraint("id", name="pk_utm_templates"),
        UniqueConstraint("account_id", "name", name="uq_utm_templates_account_id_name"),
    )
