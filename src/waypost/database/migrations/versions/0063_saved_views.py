"""Add saved views of statistics."""

from alembic import op
from sqlalchemy import Column, ForeignKeyConstraint, PrimaryKeyConstraint, Text

from waypost.database.tables import Id, Instant

revision = "0063"
down_revision = "0062"


def upgrade() -> None:
    op.create_table(
        "saved_views",
        Column("id", Id, nullable=False),
        Column("account_id", Id, nullable=False),
        Column("person_id", Id),
        Column("name", Text, nullable=False),
        Column("link_id", Id),
        Column("query", Text, nullable=False),
        Column("created_at", Instant, nullable=False),
        ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_saved_views_account_id", ondelete="CASCADE"),
        ForeignKeyConstraint(
            ["account_id", "person_id"],
            ["memberships.account_id", "memberships.person_id"],
            name="fk_saved_views_member",
            ondelete="CASCADE",
        ),
        PrimaryKeyConstraint("id", name="pk_saved_views"),
    )
    op.create_index("ix_saved_views_account", "saved_views", ["account_id", "person_id"])
