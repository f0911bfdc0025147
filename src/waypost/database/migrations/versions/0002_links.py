"""Links, the registry of their slugs, their tags, and the feed that tells other processes what changed."""

import sqlalchemy as sa
from alembic import op

from waypost.database.types import Id, Instant, Json

revision = "0002"
down_revision = "0001"

SLUG = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
ALIVE = sa.text("deleted_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "slugs",
        sa.Column("slug", SLUG, primary_key=True),
        sa.Column("account_id", Id, nullable=False),
        sa.Column("link_id", Id),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "links",
        sa.Column("id", Id, primary_key=True),
        sa.Column("account_id", Id, sa.ForeignKey("accounts.id"), nullable=False),
        sa.Column("slug", SLUG, nullable=False),
        sa.Column("hostname", sa.Text),
        sa.Column("destination_url", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("og_title", sa.Text),
        sa.Column("og_description", sa.Text),
        sa.Column("og_image", sa.Text),
        sa.Column("og_image_media", sa.Text),
        sa.Column("utm_params", Json, nullable=False),
        sa.Column("tags", Json, nullable=False),
        sa.Column("search_text", sa.Text, nullable=False),
        sa.Column("expires_at", Instant),
        sa.Column("is_on", sa.Boolean, nullable=False),
        sa.Column("clicks", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("updated_at", Instant, nullable=False),
        sa.Column("deleted_at", Instant),
    )
    op.create_index("uq_links_slug", "links", ["slug"], unique=True, sqlite_where=ALIVE, postgresql_where=ALIVE)
    newest = ["account_id", "created_at", "id"]
    op.create_index("ix_links_newest", "links", newest, sqlite_where=ALIVE, postgresql_where=ALIVE)
    op.create_table(
        "link_tags",
        sa.Column("account_id", Id, primary_key=True),
        sa.Column("tag", sa.Text, primary_key=True),
        sa.Column("link_id", Id, primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "route_changes",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("slug", SLUG, nullable=False),
        sa.Column("at", Instant, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_route_changes_at", "route_changes", ["at"])
