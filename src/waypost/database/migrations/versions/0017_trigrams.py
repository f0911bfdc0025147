"""A search finds few links among very many without reading each, where PostgreSQL's pg_trgm may be used."""

import sqlalchemy as sa
import structlog
from alembic import op
from sqlalchemy.exc import DBAPIError

revision = "0017"
down_revision = "0016"

log = structlog.get_logger(__name__)


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        return
    try:
        with op.get_bind().begin_nested():
            op.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            _create_index()
    except DBAPIError as error:  # not there, not allowed, or in a schema where nobody looks for it
        log.warning("pg_trgm_missing", reason=str(error.orig).strip(), hint="see docs/operations.md, Growing")


def _create_index() -> None:
    op.create_index(
        "ix_links_trigrams",
        "links",
        ["search_text"],
        postgresql_using="gin",
        postgresql_ops={"search_text": "gin_trgm_ops"},
        postgresql_with={"fastupdate": "off"},
        postgresql_where=sa.text("deleted_at IS NULL"),
    )
