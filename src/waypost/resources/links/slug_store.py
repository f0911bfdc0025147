"""SQL of slugs. Only the database decides whether a slug is free, so that no two links get the same."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy import delete, select, update

from waypost.database import PointRead, Tx, bulk
from waypost.resources.links.model import Link, disabled_links, slugs

SlugOwner = tuple[UUID, UUID | None]
"""The account that has a slug, and the link that uses it."""

_TAKE_OWN = (
    "ON CONFLICT (slug) DO UPDATE SET link_id = excluded.link_id"
    " WHERE slugs.account_id = excluded.account_id AND slugs.link_id IS NULL"
)
_TAKE_UNUSED = "ON CONFLICT (slug) DO NOTHING"


async def reserve_slugs(tx: Tx, links: Sequence[Link]) -> dict[UUID, SlugOwner]:
    """Reserve the slugs that are unused, or that the account used before. Return who has the others, by link.

    A concurrent call for one of them waits for our commit.
    """
    return await _reserve(tx, links, _TAKE_OWN)


async def generate_slugs(tx: Tx, links: Sequence[Link], reserved: Collection[str]) -> dict[UUID, Link]:
    """Return the links with slugs that were never used: a generated one must not revive a printed QR code."""
    from waypost.resources.links import rules  # noqa: PLC0415  # redirects do without it

    named: dict[UUID, Link] = {}
    attempt = 0
    while links:
        new = [replace(link, slug=rules.generate_slug(attempt, reserved)) for link in links]
        taken = await _reserve(tx, new, _TAKE_UNUSED)
        named |= {link.id: link for link in new if link.id not in taken}
        links = [link for link in new if link.id in taken]
        attempt += 1
    return named


async def _reserve(tx: Tx, links: Sequence[Link], on_conflict: str) -> dict[UUID, SlugOwner]:
    first = {link.slug: link for link in reversed(links)}  # PostgreSQL refuses a slug twice in one statement
    # sorted: two transactions that want the same slugs wait for each other in the same order
    rows = sorted((link.slug, link.account_id.bytes, link.id.bytes) for link in first.values())
    if await bulk.insert(tx, slugs, rows, on_conflict=on_conflict) == len(links):
        return {}
    owners = await find_slug_owners(tx, first)
    return {link.id: owners[link.slug] for link in links if owners[link.slug][1] != link.id}


async def reserve_unlinked(tx: Tx, account_id: UUID, unlinked: Iterable[str]) -> None:
    """Reserve the slugs of deleted links for the account, as far as they are unused."""
    await bulk.insert(
        tx, slugs, [(slug, account_id.bytes, None) for slug in sorted({*unlinked})], on_conflict=_TAKE_UNUSED
    )


async def release_slugs(tx: Tx, released: Collection[str]) -> None:
    """Detach slugs from their links. The account keeps them, because printed QR codes contain them.

    That of a link that the operator disabled stays with it, so that no other link gets it.
    """
    if not released:
        return
    is_kept = select(disabled_links.c.link_id).where(disabled_links.c.slug == slugs.c.slug).exists()
    await tx.execute(update(slugs).where(slugs.c.slug.in_(released), ~is_kept).values(link_id=None))


async def delete_slugs(tx: Tx, account_id: UUID) -> None:
    """Let others use the slugs of a deleted account. Only for links that nobody has printed: see `waypost demo`."""
    await tx.execute(delete(slugs).where(slugs.c.account_id == account_id))


async def find_slug_owner(tx: Tx | PointRead, slug: str) -> SlugOwner | None:
    """Return the account that has the slug, and the link that uses it; None if the slug was never used."""
    row = (await tx.execute(select(slugs.c.account_id, slugs.c.link_id).where(slugs.c.slug == slug))).one_or_none()
    return None if row is None else (row.account_id, row.link_id)


async def find_slug_owners(tx: Tx, texts: Iterable[str]) -> dict[str, SlugOwner]:
    """Return who has those of the slugs that were ever used."""
    return {
        slug: (UUID(bytes=account), UUID(bytes=link) if link else None)
        for slug, account, link in await bulk.find(tx, slugs, [(text,) for text in sorted(set(texts))])
    }
