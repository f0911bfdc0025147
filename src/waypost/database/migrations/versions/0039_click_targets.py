"""The rule or variant that a click was sent to. Cached top values have no targets, so they are computed again."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    op.add_column("clicks", sa.Column("target", sa.Text, nullable=False, server_default=sa.text("''")))
    op.execute("DELETE FROM top_values_cache")
