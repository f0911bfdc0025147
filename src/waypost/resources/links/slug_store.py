"""SQL of slugs. Only the database decides whether a slug is free, so that no two links get the same."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, delete, select, text, update

from waypost.database import Id, PointRead, Tx
from waypost.resources.links.model import Link, disabled_links, slugs

_IDS = (bindparam("account_id", type_=Id), bindparam("link_id", type_=Id))
_RESERVE = text(
    "INSERT INTO slugs (slug, account_id, link_id) VALUES (:slug, :account_id, :link_id)"
    " ON CONFLICT (slug) DO UPDATE SET link_id = excluded.link_id"
    " WHERE slugs.account_id = excluded.account_id AND (slugs.link_id IS NULL OR slugs.link_id = excluded.link_id)"
    " RETURNING slug"
).bindparams(*_IDS)
_RESERVE_UNUSED = text(
    "INSERT INTO slugs (slug, account_id, link_id) VALUES (:slug, :account_id, :link_id)"
    " ON CONFLICT (slug) DO NOTHING RETURNING slug"
).bindparams(*_IDS)


async def reserve_slug(tx: Tx, link: Link) -> bool:
    """Reserve a slug that is unused, or that this account used before. A concurrent call waits for our commit."""
    return (await tx.execute(_RESERVE, _slug_row(link))).one_or_none() is not None


async def reserve_unused_slug(tx: Tx, link: Link) -> bool:
    """Reserve a slug that was never used: a generated one must not revive a printed QR code."""
    return (await tx.execute(_RESERVE_UNUSED, _slug_row(link))).one_or_none() is not None


async def release_slug(tx: Tx, slug: str) -> None:
    """See `release_slugs`."""
    await release_slugs(tx, [slug])


async def release_slugs(tx: Tx, released: Collection[str]) -> None:
    """Detach slugs from their links. The account keeps them, because printed QR codes contain them.

    That of a link that the operator disabled stays with it, so that no other link gets it.
    """
    is_kept = select(disabled_links.c.link_id).where(disabled_links.c.slug == slugs.c.slug).exists()
    await tx.execute(update(slugs).where(slugs.c.slug.in_(released), ~is_kept).values(link_id=None))


async def delete_slugs(tx: Tx, account_id: UUID) -> None:
    """Let others use the slugs of a deleted account. Only for links that nobody has printed: see `waypost demo`."""
    await tx.execute(delete(slugs).where(slugs.c.account_id == account_id))


async def find_slug_owner(tx: Tx | PointRead, slug: str) -> tuple[UUID, UUID | None] | None:
    """Return the account that has the slug, and the link that uses it; None if the slug was never used."""
    row = (await tx.execute(select(slugs.c.account_id, slugs.c.link_id).where(slugs.c.slug == slug))).one_or_none()
    return None if row is None else (row.account_id, row.link_id)


def _slug_row(link: Link) -> dict[str, Any]:
    return {"slug": link.slug, "account_id": link.account_id, "link_id": link.id}
