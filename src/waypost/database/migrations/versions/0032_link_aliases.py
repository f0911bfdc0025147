"""More addresses of links, on custom domains."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id, Instant

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    op.create_table(
        "link_aliases",
        sa.Column("id", Id, primary_key=True),
        *(sa.Column(name, Id, nullable=False) for name in ("account_id", "link_id", "domain_id")),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("digest", Id, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
    )
    op.create_index("uq_link_aliases_address", "link_aliases", ["domain_id", "digest"], unique=True)
    op.create_index("ix_link_aliases_link", "link_aliases", ["link_id", "created_at", "id"])
