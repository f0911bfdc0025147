"""Every statement on the tables of links but those of `lists`.

Uniqueness of slugs is decided here, by the database, and nowhere else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    bindparam,
    delete,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from waypost import auth
from waypost.database import Id, PointRead, Tx
from waypost.kit.errors import NotFound
from waypost.resources import domains, pixels
from waypost.resources.links import rules
from waypost.resources.links.model import (
    ALIVE,
    COLUMNS,
    Link,
    link_clicks,
    link_tags,
    links,
    route_changes,
    slugs,
)
from waypost.resources.links.routes import CHANNEL

_ONE = select(*COLUMNS).where(links.c.id == bindparam("link_id"), links.c.account_id == bindparam("account_id"), ALIVE)
"""Built once: the API's most frequent statement, and building it took as long as running it."""

_CHANGES_KEPT = timedelta(hours=1)
_KEPT_ELSEWHERE = ("hostname", "clicks", "pixel_ids")

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


async def claim(tx: Tx, slug: str, *, account_id: UUID, link_id: UUID) -> bool:
    """Takes a slug nobody has, or one this account once had. A concurrent claim of the same waits for our commit."""
    given = {"slug": slug, "account_id": account_id, "link_id": link_id}
    return (await tx.execute(_CLAIM, given)).one_or_none() is not None


async def claim_unused(tx: Tx, slug: str, *, account_id: UUID, link_id: UUID) -> bool:
    """Takes a slug only if nobody ever had it: what chance made must not revive an old printed code."""
    given = {"slug": slug, "account_id": account_id, "link_id": link_id}
    return (await tx.execute(_CLAIM_UNUSED, given)).one_or_none() is not None


async def release(tx: Tx, slug: str) -> None:
    """The account keeps the slug: nobody else can take over what it printed."""
    await tx.execute(update(slugs).where(slugs.c.slug == slug).values(link_id=None))


async def is_claimable(tx: Tx | PointRead, slug: str, account_id: UUID, link_id: UUID | None) -> bool:
    """What `claim` would say right now; only to name the slug among other faults, never to decide."""
    held = await holder(tx, slug)
    return held is None or (held[0] == account_id and held[1] in {None, link_id})


async def holder(tx: Tx | PointRead, slug: str) -> tuple[UUID, UUID | None] | None:
    """The account that has a slug, and the link it is on; None for a slug that nobody ever had."""
    row = (await tx.execute(select(slugs.c.account_id, slugs.c.link_id).where(slugs.c.slug == slug))).one_or_none()
    return None if row is None else (row.account_id, row.link_id)


async def add(tx: Tx, link: Link) -> bool:
    """False when its id is in use. A concurrent use of it waits for our transaction's end.

    Raises NotFound when the account was closed meanwhile: nobody would ever end what it got then.
    """
    row = asdict(link) | {"search_text": link.search_text}
    for elsewhere in _KEPT_ELSEWHERE:
        del row[elsewhere]
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


async def find_for_change(tx: Tx, account_id: UUID, link_id: UUID) -> Link | None:
    """Nobody else changes it until the transaction ends (on SQLite it is the only writer anyway)."""
    locked = select(links.c.id).where(links.c.id == link_id, links.c.account_id == account_id).with_for_update()
    await tx.execute(locked)
    return await find(tx, account_id, link_id)  # only now: what lies in other tables is not read anew by who waited


async def save(tx: Tx, before: Link, after: Link) -> None:
    """Writes only what differs."""
    old, new = asdict(before), asdict(after)
    values = {name: value for name, value in new.items() if value != old[name] and name not in _KEPT_ELSEWHERE}
    await tx.execute(update(links).where(links.c.id == after.id).values(**values, search_text=after.search_text))
    if before.tags != after.tags:
        await _drop_tags(tx, before)
        await _add_tags(tx, after)
    if before.pixel_ids != after.pixel_ids:
        await pixels.attach(tx, after.id, after.pixel_ids)


async def mark_deleted(tx: Tx, link: Link, at: datetime) -> None:
    await tx.execute(
        update(links).where(links.c.id == link.id).values(deleted_at=at, og_image_media=None, og_image_bytes=0)
    )
    await release(tx, link.slug)
    await _drop_tags(tx, link)
    await pixels.attach(tx, link.id, [])
    await domains.move_link(tx, link.domain_id, None)
    await auth.adjust_links_count(tx, link.account_id, -1)
    await auth.adjust_image_bytes(tx, link.account_id, -link.og_image_bytes, limit=rules.MAX_IMAGES_MB << 20)


async def announce(tx: Tx, slugs_changed: Iterable[str], at: datetime) -> None:
    """Tells other processes, should this one die between its commit and `routes_changed`; and other machines anyway."""
    rows = [{"slug": slug, "at": at} for slug in slugs_changed]
    if tx.dialect.name == "postgresql":
        for row in rows:
            await tx.execute(text("SELECT pg_notify(:channel, :slug)"), {"channel": CHANNEL, "slug": row["slug"]})
        return
    if rows:
        await tx.execute(insert(route_changes), rows)
    await tx.execute(delete(route_changes).where(route_changes.c.at < at - _CHANGES_KEPT))


async def _add_tags(tx: Tx, link: Link) -> None:
    rows: Sequence[Mapping[str, Any]] = [
        {"account_id": link.account_id, "tag": tag, "link_id": link.id} for tag in link.tags
    ]
    if rows:
        await tx.execute(insert(link_tags), rows)


async def _drop_tags(tx: Tx, link: Link) -> None:
    gone = (link_tags.c.account_id == link.account_id, link_tags.c.tag.in_(link.tags), link_tags.c.link_id == link.id)
    if link.tags:
        await tx.execute(delete(link_tags).where(*gone))
