"""Add options of domains, and the case-folded addresses of links, except of slugs that look generated."""

from hashlib import blake2b
from uuid import UUID

import sqlalchemy as sa
from alembic import op

from waypost.database import Id, Instant

revision = "0064"
down_revision = "0063"

_LINKS = sa.table("links", *(sa.column(name) for name in ("slug", "folded_slug", "deleted_at")))
_ALIASES = sa.table("link_aliases", sa.column("id", Id), sa.column("path"), sa.column("folded", Id))
_GENERATED = "[2-9A-HJ-NP-Za-km-z]"
_LENGTHS = (7, 8)
_BATCH = 1_000


def upgrade() -> None:
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    op.create_table(
        "domain_options",
        sa.Column("domain_id", Id, primary_key=True),
        sa.Column("ignore_case", sa.Boolean),
        sa.Column("updated_at", Instant, nullable=False),
    )
    slug = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("links", sa.Column("folded_slug", slug))
    op.add_column("link_aliases", sa.Column("folded", Id))
    _fold_slugs(is_postgresql=is_postgresql)
    _fold_aliases()
    is_named = sa.text("deleted_at IS NULL AND folded_slug IS NOT NULL")
    op.create_index(
        "ix_links_folded",
        "links",
        ["folded_slug", "domain_id"],
        sqlite_where=is_named,
        postgresql_where=is_named,
    )
    op.create_index("ix_link_aliases_folded", "link_aliases", ["domain_id", "folded"])


def _fold_slugs(*, is_postgresql: bool) -> None:
    """Nothing says which slugs were generated. A word, with a capital or capitals and a number, was chosen."""
    slug = _LINKS.c.slug
    is_shaped = (
        slug.op("~")(f"^{_GENERATED}{{{min(_LENGTHS)},{max(_LENGTHS)}}}$")
        if is_postgresql
        else sa.or_(*(slug.op("GLOB")(_GENERATED * length) for length in _LENGTHS))
    )
    word = sa.func.rtrim(slug, "0123456789")
    has_digits = sa.or_(*(word.contains(digit) for digit in "23456789"))
    rest = sa.func.substr(word, 2)
    is_word = ~has_digits & sa.or_(rest == sa.func.lower(rest), word == sa.func.upper(word))
    is_chosen = ~is_shaped | is_word
    fold = sa.update(_LINKS).where(_LINKS.c.deleted_at.is_(None), is_chosen)
    op.execute(fold.values(folded_slug=sa.func.lower(slug)))


def _fold_aliases() -> None:
    connection = op.get_bind()
    page = sa.select(_ALIASES.c.id, _ALIASES.c.path).order_by(_ALIASES.c.id).limit(_BATCH)
    rows = connection.execute(page).all()
    fold = sa.update(_ALIASES).where(_ALIASES.c.id == sa.bindparam("alias_id", type_=Id))
    while rows:
        folded = [{"alias_id": row.id, "digest": _digest(row.path)} for row in rows]
        connection.execute(fold.values(folded=sa.bindparam("digest", type_=Id)), folded)
        rows = connection.execute(page.where(_ALIASES.c.id > rows[-1].id)).all()


def _digest(path: str) -> UUID:
    return UUID(bytes=blake2b(path.casefold().encode(), digest_size=16).digest())
