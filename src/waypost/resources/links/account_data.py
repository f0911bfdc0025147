"""The links of one account: exported, and deleted in short transactions."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import delete, literal, select, tuple_

from waypost.database import Database, Id, Instant, Tx
from waypost.kit.clock import Clock
from waypost.redirect import InvalidateRoutes
from waypost.resources.links import store
from waypost.resources.links.media import ImageStore
from waypost.resources.links.model import COLUMNS, NOT_DELETED, Link, imported_clicks, link_clicks, link_tags, links
from waypost.resources.links.schemas import to_json

_EXPORT_BATCH = 1_000


class DeletedLink(NamedTuple):
    id: UUID
    slug: str
    image: str | None
    """Name of an uploaded image."""


async def export_account_data(
    db: Database, account_id: UUID, *, shared_domain: str, base_url: str, clock: Clock
) -> AsyncIterator[str]:
    """Yield the links as the API shows them, one per line, newest first."""
    order = links.c.created_at, links.c.id
    newest = select(*COLUMNS).where(links.c.account_id == account_id, NOT_DELETED)
    newest = newest.order_by(*(column.desc() for column in order)).limit(_EXPORT_BATCH)
    query = newest
    while True:
        async with db.read_long() as tx:
            batch = [Link(*row) for row in await tx.execute(query)]
        now = clock()
        rows = (to_json(link, shared_domain=shared_domain, base_url=base_url, now=now) for link in batch)
        yield "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        if len(batch) < _EXPORT_BATCH:
            break
        last = batch[-1]
        query = newest.where(tuple_(*order) < tuple_(literal(last.created_at, Instant), literal(last.id, Id)))


async def delete_account_data(
    db: Database,
    account_id: UUID,
    *,
    image_store: ImageStore,
    invalidate_routes: InvalidateRoutes,
    clock: Clock,
    batch_size: int,
) -> AsyncGenerator[None, None]:
    """Delete all links of the account. Yields after each transaction; the rows stay until `delete_rows`."""
    is_more_left = True
    while is_more_left:
        async with db.write() as tx:
            deleted = await delete_batch(tx, account_id, clock(), batch_size=batch_size)
        invalidate_routes([link.slug for link in deleted])
        for link in deleted:
            await image_store.delete(link.image)
        is_more_left = len(deleted) >= batch_size
        if deleted:  # a job that is stopped after a step without effect would repeat that step forever
            yield


async def delete_batch(
    tx: Tx, account_id: UUID, now: datetime, *, batch_size: int, skip_locked: bool = False
) -> Sequence[DeletedLink]:
    """Delete up to `batch_size` links. Their slugs stay reserved: a printed QR code must not lead to another account.

    `skip_locked`: for a transaction that has locked the account's row. It must not wait for a link, whose transaction
    may wait for the account.
    """
    query = select(links.c.id, links.c.slug, links.c.og_image_file_name)
    query = query.where(links.c.account_id == account_id, NOT_DELETED).limit(batch_size)
    deleted = [DeletedLink(*row) for row in await tx.execute(query.with_for_update(skip_locked=skip_locked))]
    if deleted:
        ids, slugs = [link.id for link in deleted], [link.slug for link in deleted]
        await store.mark_all_deleted(tx, ids, slugs, now)
        await tx.execute(delete(link_tags).where(link_tags.c.account_id == account_id, link_tags.c.link_id.in_(ids)))
        await store.record_route_changes(tx, slugs, now)
    return deleted


async def find_ids_after(tx: Tx, account_id: UUID, link_id: UUID, *, limit: int) -> Sequence[UUID]:
    """Return the next ids of links, deleted ones included: no index leads to deleted links alone."""
    query = select(links.c.id).where(links.c.account_id == account_id, links.c.id > link_id)
    return (await tx.scalars(query.order_by(links.c.id).limit(limit))).all()


async def delete_rows(tx: Tx, ids: Sequence[UUID]) -> None:
    await tx.execute(delete(link_clicks).where(link_clicks.c.link_id.in_(ids)))
    await tx.execute(delete(imported_clicks).where(imported_clicks.c.link_id.in_(ids)))
    await tx.execute(delete(links).where(links.c.id.in_(ids)))
