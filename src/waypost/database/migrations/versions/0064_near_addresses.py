"""Add options of domains, and columns for the case-folded addresses of links."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id, Instant

revision = "0064"
down_revision = "0063"


def upgrade() -> None:
    op.create_table(
        "domain_options",
        sa.Column("domain_id", Id, primary_key=True),
        sa.Column("ignore_case", sa.Boolean),
        sa.Column("updated_at", Instant, nullable=False),
    )
    slug = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("links", sa.Column("folded_slug", slug))
    op.add_column("link_aliases", sa.Column("folded", Id))
