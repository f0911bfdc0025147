"""Indexes of deleted links, and of limited links with their limits, which lists of links read alone."""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0047"

_IS_DELETED = sa.text("deleted_at IS NOT NULL")
_IS_LIMITED = sa.text("deleted_at IS NULL AND (starts_at IS NOT NULL OR click_limit IS NOT NULL)")


def upgrade() -> None:
    op.drop_index("ix_links_limited", "links")
    for name, columns, condition in (
        ("ix_links_deleted", ["account_id", "id"], _IS_DELETED),
        ("ix_links_limited", ["account_id", "id", "starts_at", "click_limit"], _IS_LIMITED),
    ):
        op.create_index(name, "links", columns, sqlite_where=condition, postgresql_where=condition)
