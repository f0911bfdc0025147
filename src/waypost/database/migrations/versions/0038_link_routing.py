"""Routing of links: rules, variants, password and fallback; start and click limit, which the status depends on."""

import sqlalchemy as sa
from alembic import op

from waypost.database import Id, Instant

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    op.create_table(
        "link_routing",
        sa.Column("link_id", Id, primary_key=True),
        sa.Column("account_id", Id, nullable=False),
        *(sa.Column(name, sa.Text) for name in ("rules", "variants", "fallback_url", "password_hash")),
        sa.Column("password_version", sa.BigInteger),
        sa.Column("unsafe_urls", sa.Text),
        sa.Column("checked_at", Instant, nullable=False),
        sa.Column("updated_at", Instant, nullable=False),
    )
    op.create_index("ix_link_routing_checked_at", "link_routing", ["checked_at"])
    op.add_column("links", sa.Column("starts_at", Instant))
    op.add_column("links", sa.Column("click_limit", sa.Integer))
    where = sa.text("deleted_at IS NULL AND (starts_at IS NOT NULL OR click_limit IS NOT NULL)")
    op.create_index("ix_links_limited", "links", ["account_id", "id"], sqlite_where=where, postgresql_where=where)
