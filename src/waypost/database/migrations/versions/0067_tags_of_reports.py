"""Keep the id of the tag that a report is about."""

from alembic import op
from sqlalchemy import Column

from waypost.database.tables import Id

revision = "0067"
down_revision = "0066"


def upgrade() -> None:
    op.add_column("report_subscriptions", Column("tag_id", Id))
