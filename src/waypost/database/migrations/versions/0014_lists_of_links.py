"""Lists of links are filtered by state and sorted by title without reading each row."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_ALIVE = sa.text("deleted_at IS NULL")


def upgrade() -> None:
    op.drop_index("ix_links_newest", "links")
    newest = ["account_id", "created_at", "id", "is_on", "expires_at"]
    op.create_index("ix_links_newest", "links", newest, sqlite_where=_ALIVE, postgresql_where=_ALIVE)
    title = [sa.text(each) for each in ("account_id", "substr(search_text, 1, 64)", "created_at DESC", "id DESC")]
    op.create_index("ix_links_title", "links", title, sqlite_where=_ALIVE, postgresql_where=_ALIVE)
    if op.get_bind().dialect.name == "sqlite":  # PostgreSQL admits no entry as long as a text may be
        search = ["account_id", "created_at", "id", "search_text"]
        op.create_index("ix_links_search", "links", search, sqlite_where=_ALIVE)
