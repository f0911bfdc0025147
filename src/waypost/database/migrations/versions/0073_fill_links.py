"""Fill the case-folded addresses of links, except of slugs that look generated, and when each was last clicked."""

from datetime import UTC, datetime
from hashlib import blake2b
from uuid import UUID

import sqlalchemy as sa
from alembic import op

from waypost.database.migrations import steps
from waypost.database.tables import Id, Instant

revision = "0073"
down_revision = "0072"

_LINKS = sa.table("links", sa.column("id", Id), *map(sa.column, ("slug", "folded_slug", "deleted_at")))
_ALIASES = sa.table("link_aliases", sa.column("id", Id), sa.column("path"), sa.column("folded", Id))
_CLICKS = sa.table(
    "link_clicks", sa.column("link_id", Id), sa.column("clicks", sa.BigInteger), sa.column("last_click_at", Instant)
)
_LAST = sa.table("last_clicks", sa.column("link_id", Id), sa.column("at", Instant))
_GENERATED = "[2-9A-HJ-NP-Za-km-z]"
_LENGTHS = (7, 8)


def upgrade() -> None:
    fold_slugs()
    fold_aliases()
    is_named = sa.text("deleted_at IS NULL AND folded_slug IS NOT NULL")
    steps.create_index("ix_links_folded", "links", ["folded_slug", "domain_id"], is_named)
    steps.create_index("ix_link_aliases_folded", "link_aliases", ["domain_id", "folded"])
    find_last_clicks()


def fold_slugs() -> None:
    """Nothing says which slugs were generated. A word, with a capital or capitals and a number, was chosen."""
    slug = _LINKS.c.slug
    is_shaped = (
        slug.op("~")(f"^{_GENERATED}{{{min(_LENGTHS)},{max(_LENGTHS)}}}$")
        if op.get_bind().dialect.name == "postgresql"
        else sa.or_(*(slug.op("GLOB")(_GENERATED * length) for length in _LENGTHS))
    )
    word = sa.func.rtrim(slug, "0123456789")
    has_digits = sa.or_(*(word.contains(digit) for digit in "23456789"))
    rest = sa.func.substr(word, 2)
    is_word = ~has_digits & sa.or_(rest == sa.func.lower(rest), word == sa.func.upper(word))
    is_due = _LINKS.c.deleted_at.is_(None) & _LINKS.c.folded_slug.is_(None) & (~is_shaped | is_word)
    fold = sa.update(_LINKS).where(is_due).values(folded_slug=sa.func.lower(slug))
    steps.in_batches(_LINKS.c.id, lambda batch: op.execute(fold.where(batch)))


def fold_aliases() -> None:
    connection = op.get_bind()
    fold = sa.update(_ALIASES).where(_ALIASES.c.id == sa.bindparam("alias_id", type_=Id))

    def fold_batch(batch: sa.ColumnElement[bool]) -> None:
        rows = connection.execute(sa.select(_ALIASES.c.id, _ALIASES.c.path).where(batch, _ALIASES.c.folded.is_(None)))
        folded = [{"alias_id": row.id, "digest": _digest(row.path)} for row in rows]
        if folded:
            connection.execute(fold.values(folded=sa.bindparam("digest", type_=Id)), folded)

    steps.in_batches(_ALIASES.c.id, fold_batch)


def find_last_clicks() -> None:
    """Links of which this database does not know when they were clicked count as used now."""
    op.execute(
        "CREATE TEMPORARY TABLE last_clicks AS SELECT subject_id AS link_id, max(last_at) AS at FROM click_totals"
        " WHERE quarter = -1 AND last_at IS NOT NULL GROUP BY subject_id"
    )
    op.execute("CREATE INDEX ix_last_clicks ON last_clicks (link_id)")
    known = sa.select(_LAST.c.at).where(_LAST.c.link_id == _CLICKS.c.link_id).scalar_subquery()
    at = sa.func.coalesce(known, sa.case((_CLICKS.c.clicks > 0, sa.literal(datetime.now(UTC), Instant))))
    find = sa.update(_CLICKS).where(_CLICKS.c.last_click_at.is_(None)).values(last_click_at=at)
    steps.in_batches(_CLICKS.c.link_id, lambda batch: op.execute(find.where(batch)))
    op.execute("DROP TABLE last_clicks")


def _digest(path: str) -> UUID:
    return UUID(bytes=blake2b(path.casefold().encode(), digest_size=16).digest())
