"""Statements on the tables of links, apart from lists and from what `lookups` offers other packages.

The database alone decides that slugs are unique, and it does so here.
"""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import bindparam, delete, insert, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from waypost import auth
from waypost.database import Id, PointRead, Tx
from waypost.kit.errors import NotFound
from waypost.resources import domains, pixels
from waypost.resources.links.model import (
    ALIVE,
    COLUMNS,
    ROUTE_CHANNEL,
    Link,
    link_clicks,
    link_tags,
    links,
    route_changes,
    slugs,
)

_ONE = select(*COLUMNS).where(links.c.id == bindparam("link_id"), links.c.account_id == bindparam("account_id"), ALIVE)
"""Built once: it is the API's most frequent statement, and building it took as long as running it."""

_CHANGES_KEPT = timedelta(hours=1)
_IN_OTHER_TABLES = ("hostname", "clicks", "pixel_ids")

_IDS = (bindparam("account_id", type_=Id), bindparam("link_id", type_=Id))
_CLAIM = text(
    "INSERT INTO slugs (slug, account_id, link_id) VALUES (:slug, :account_id, :link_id)"
    " ON CONFLICT (slug) DO UPDATE SET link_id = excluded.link_id"
    " WHERE slugs.account_id = excluded.account_id AND slugs.link_id IS NULL RETURNING slug"
).bindparams(*_IDS)
_CLAIM_UNUSED = text(
    "INSERT INTO slugs (slug, account_id, link_id) VALUES (:slug, :account_id, :link_id)"
    " ON CONFLICT (slug) DO NOTHING RETURNING slug"
).bindparams(*_IDS)

_ADD = {
    name: dialect.insert(links).on_conflict_do_nothing(index_elements=[links.c.id]).returning(links.c.id)
    for name, dialect in (("sqlite", sqlite), ("postgresql", postgresql))
}


async def claim_slug(tx: Tx, slug: str, *, account_id: UUID, link_id: UUID) -> bool:
    """Take a slug that nobody has, or that this account had before. A concurrent claim of it waits for our commit."""
    row = {"slug": slug, "account_id": account_id, "link_id": link_id}
    return (await tx.execute(_CLAIM, row)).one_or_none() is not None


async def claim_unused_slug(tx: Tx, slug: str, *, account_id: UUID, link_id: UUID) -> bool:
    """Take a slug that nobody ever had: a generated one must not revive a printed QR code."""
    row = {"slug": slug, "account_id": account_id, "link_id": link_id}
    return (await tx.execute(_CLAIM_UNUSED, row)).one_or_none() is not None


async def release_slug(tx: Tx, slug: str) -> None:
    """The account keeps the slug: nobody else can take over its printed QR codes."""
    await tx.execute(update(slugs).where(slugs.c.slug == slug).values(link_id=None))


async def find_slug_owner(tx: Tx | PointRead, slug: str) -> tuple[UUID, UUID | None] | None:
    """The account that has a slug, and the link that uses it; None for a slug that nobody ever had."""
    row = (await tx.execute(select(slugs.c.account_id, slugs.c.link_id).where(slugs.c.slug == slug))).one_or_none()
    return None if row is None else (row.account_id, row.link_id)


async def add(tx: Tx, link: Link) -> bool:
    """False when the id is in use. A concurrent use of it waits for the end of our transaction.

    Raises NotFound when the account was closed meanwhile: nothing would ever delete the link then.
    """
    row = asdict(link) | {"search_text": link.search_text}
    for name in _IN_OTHER_TABLES:
        del row[name]
    if (await tx.execute(_ADD[tx.dialect.name], row)).one_or_none() is None:
        return False
    await tx.execute(insert(link_clicks), {"link_id": link.id, "account_id": link.account_id, "clicks": 0})
    await _add_tags(tx, link)
    if link.pixel_ids:
        await pixels.attach(tx, link.id, link.pixel_ids)
    if not await auth.adjust_links_count(tx, link.account_id, 1):
        raise NotFound
    return True


async def find(tx: Tx | PointRead, account_id: UUID, link_id: UUID) -> Link | None:
    row = (await tx.execute(_ONE, {"account_id": account_id, "link_id": link_id})).one_or_none()
    return None if row is None else Link(*row)


async def find_owner(tx: Tx, link_id: UUID) -> UUID | None:
    """Return the account of a link, which may be deleted."""
    owner: UUID | None = await tx.scalar(select(links.c.account_id).where(links.c.id == link_id))
    return owner


async def find_for_change(tx: Tx, account_id: UUID, link_id: UUID) -> Link | None:
    """Nobody else changes it until the transaction ends (on SQLite it is the only writer anyway)."""
    locked = select(links.c.id).where(links.c.id == link_id, links.c.account_id == account_id).with_for_update()
    await tx.execute(locked)
    return await find(tx, account_id, link_id)  # after the wait: a lock does not re-read rows of other tables


async def save(tx: Tx, before: Link, after: Link) -> None:
    """Write only what differs."""
    old, new = asdict(before), asdict(after)
    values = {name: value for name, value in new.items() if value != old[name] and name not in _IN_OTHER_TABLES}
    await tx.execute(update(links).where(links.c.id == after.id).values(**values, search_text=after.search_text))
    if before.tags != after.tags:
        await _remove_tags(tx, before)
        await _add_tags(tx, after)
    if before.pixel_ids != after.pixel_ids:
        await pixels.attach(tx, after.id, after.pixel_ids)


async def mark_deleted(tx: Tx, link: Link, at: datetime) -> None:
    values = {"deleted_at": at, "og_image_media": None, "og_image_bytes": 0}
    await tx.execute(update(links).where(links.c.id == link.id).values(values))
    await release_slug(tx, link.slug)
    await _remove_tags(tx, link)
    await pixels.attach(tx, link.id, [])
    await domains.move_link(tx, link.domain_id, None)
    await auth.adjust_links_count(tx, link.account_id, -1)


async def announce(tx: Tx, changed: Iterable[str], at: datetime) -> None:
    """Record changed slugs (or messages of `route_invalidation`) for the processes that `routes_changed` misses.

    Those of other machines, and of this one should this process die after its commit.
    """
    rows = [{"slug": each, "at": at} for each in changed]
    if tx.dialect.name == "postgresql":
        for row in rows:
            await tx.execute(text("SELECT pg_notify(:channel, :slug)"), {"channel": ROUTE_CHANNEL, "slug": row["slug"]})
        return
    if rows:
        await tx.execute(insert(route_changes), rows)
    await tx.execute(delete(route_changes).where(route_changes.c.at < at - _CHANGES_KEPT))


async def _add_tags(tx: Tx, link: Link) -> None:
    if link.tags:
        rows = [{"account_id": link.account_id, "tag": tag, "link_id": link.id} for tag in link.tags]
        await tx.execute(insert(link_tags), rows)


async def _remove_tags(tx: Tx, link: Link) -> None:
    if link.tags:
        c = link_tags.c
        of_link = (c.account_id == link.account_id, c.tag.in_(link.tags), c.link_id == link.id)
        await tx.execute(delete(link_tags).where(*of_link))
