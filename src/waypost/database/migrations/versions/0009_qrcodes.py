"""How codes look, and how often they were scanned: counted from the days of those that were scanned before."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id, Instant

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "qr_looks",
        sa.Column("link_id", Id, primary_key=True),
        sa.Column("foreground", sa.Text, nullable=False),
        sa.Column("background", sa.Text, nullable=False),
        sa.Column("level", sa.Text, nullable=False),
        sa.Column("style", sa.Text, nullable=False),
        sa.Column("size", sa.SmallInteger, nullable=False),
        sa.Column("margin", sa.SmallInteger, nullable=False),
        sa.Column("updated_at", Instant, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "qr_scans",
        sa.Column("link_id", Id, primary_key=True),
        sa.Column("scans", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
        postgresql_with={"fillfactor": 80},  # rows are updated where they lie while there is room
    )
    op.execute(
        "INSERT INTO qr_scans (link_id, scans) SELECT subject_id, sum(scans) FROM click_totals"
        " JOIN links ON links.id = subject_id WHERE quarter = -1 GROUP BY subject_id HAVING sum(scans) > 0"
    )
