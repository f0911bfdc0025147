"""The links of one account: exported all, and deleted in short transactions."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import delete, literal, select, tuple_, update

from waypost.database import Database, Id, Instant, Tx
from waypost.kit.clock import Clock
from waypost.redirect import InvalidateRoutes
from waypost.resources import pixels
from waypost.resources.links import media, store
from waypost.resources.links.model import COLUMNS, NOT_DELETED, Link, link_clicks, link_tags, links, slugs
from waypost.resources.links.schemas import to_json

_EXPORTED_AT_ONCE = 1_000


class DeletedLink(NamedTuple):
    id: UUID
    slug: str
    image: str | None
    """File name of a hosted image."""


async def export(
    db: Database, account_id: UUID, *, shared_domain: str, base_url: str, clock: Clock
) -> AsyncIterator[str]:
    """Lines of JSON as the API shows links, newest first."""
    order = links.c.created_at, links.c.id
    newest = select(*COLUMNS).where(links.c.account_id == account_id, NOT_DELETED)
    newest = newest.order_by(*(column.desc() for column in order)).limit(_EXPORTED_AT_ONCE)
    page = newest
    while True:
        async with db.read_long() as tx:
            found = [Link(*row) for row in await tx.execute(page)]
        now = clock()
        rows = (to_json(each, shared_domain=shared_domain, base_url=base_url, now=now) for each in found)
        yield "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        if len(found) < _EXPORTED_AT_ONCE:
            break
        last = found[-1]
        page = newest.where(tuple_(*order) < tuple_(literal(last.created_at, Instant), literal(last.id, Id)))


async def delete_all_for(
    db: Database,
    account_id: UUID,
    *,
    media_directory: Path,
    invalidate_routes: InvalidateRoutes,
    clock: Clock,
    at_once: int,
) -> AsyncGenerator[None, None]:
    """Yields after each transaction that deleted links. Their rows stay until `delete_rows`."""
    is_more_left = True
    while is_more_left:
        async with db.write() as tx:
            deleted = await delete_some(tx, account_id, clock(), at_once=at_once)
        invalidate_routes([each.slug for each in deleted])
        for each in deleted:
            await media.discard(media_directory, each.image)
        is_more_left = len(deleted) >= at_once
        if deleted:  # a job that is stopped after a step without effect would repeat that step forever
            yield


async def delete_some(
    tx: Tx, account_id: UUID, now: datetime, *, at_once: int, skip_locked: bool = False
) -> Sequence[DeletedLink]:
    """Drops routes and keeps slugs: what was printed must never lead to another account.

    `skip_locked`: for a transaction that holds the account's row. It must not wait for a link, whose transaction may
    wait for the account.
    """
    mine = select(links.c.id, links.c.slug, links.c.og_image_file_name).where(
        links.c.account_id == account_id, NOT_DELETED
    )
    some = mine.limit(at_once).with_for_update(skip_locked=skip_locked)
    deleted = [DeletedLink(*row) for row in await tx.execute(some)]
    if not deleted:
        return deleted
    ids = [each.id for each in deleted]
    await tx.execute(update(links).where(links.c.id.in_(ids)).values(deleted_at=now, og_image_file_name=None))
    await tx.execute(update(slugs).where(slugs.c.slug.in_([each.slug for each in deleted])).values(link_id=None))
    await tx.execute(delete(link_tags).where(link_tags.c.account_id == account_id, link_tags.c.link_id.in_(ids)))
    await pixels.detach_from_links(tx, ids)
    await store.record_route_changes(tx, [each.slug for each in deleted], now)
    return deleted


async def ids_after(tx: Tx, account_id: UUID, link_id: UUID, *, at_most: int) -> Sequence[UUID]:
    """Of deleted links, too, in the order of ids: no index leads to deleted links alone."""
    ids = select(links.c.id).where(links.c.account_id == account_id, links.c.id > link_id)
    return (await tx.execute(ids.order_by(links.c.id).limit(at_most))).scalars().all()


async def delete_rows(tx: Tx, ids: Sequence[UUID]) -> None:
    await tx.execute(delete(link_clicks).where(link_clicks.c.link_id.in_(ids)))
    await tx.execute(delete(links).where(links.c.id.in_(ids)))
