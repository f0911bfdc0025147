"""Add a note to links, and the id that another system has for each."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, Text

from waypost.database.migrations import steps

revision = "0077"
down_revision = "0076"


def upgrade() -> None:
    is_repeatable = op.get_bind().dialect.name == "postgresql"  # where the index has a transaction of its own
    external_id = Column("external_id", Text().with_variant(Text(collation="C"), "postgresql"))
    for column in (Column("note", Text), external_id):
        op.add_column("links", column, if_not_exists=is_repeatable)
    is_external = sa.text("deleted_at IS NULL AND external_id IS NOT NULL")
    steps.create_index("uq_links_external_id", "links", ["account_id", "external_id"], is_external, unique=True)
