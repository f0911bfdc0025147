"""The links of one account: exported, and deleted in short transactions."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import delete, literal, select, tuple_
from typing_extensions import TypedDict

from waypost.accounts import Account
from waypost.accounts.data.archive.parts import Files, Part, csv_file, ndjson_file
from waypost.context import Context
from waypost.database import Database, Id, Instant, Tx, bulk, read_in_batches
from waypost.kit.csv_cells import csv_text
from waypost.kit.fields import IdText, TimestampText
from waypost.kit.json_object import json_object
from waypost.kit.pagination import PageRequest
from waypost.resource import DELETED_AT_ONCE
from waypost.resources.links import aliases, health, routing, store
from waypost.resources.links.aliases.schemas import AliasJson
from waypost.resources.links.aliases.schemas import to_json as alias_to_json
from waypost.resources.links.click_counters import find_imported_clicks
from waypost.resources.links.model import (
    COLUMNS,
    NOT_DELETED,
    Link,
    disabled_links,
    imported_clicks,
    link_clicks,
    link_tags,
    links,
)
from waypost.resources.links.routes.changes import Routes
from waypost.resources.links.routing import LinkRouting
from waypost.resources.links.routing.schemas import RoutingJson
from waypost.resources.links.routing.schemas import to_json as routing_to_json
from waypost.resources.links.schemas import LinkJson, LinkOptionsChange, options_of, to_json
from waypost.resources.links.tags import store as tags
from waypost.resources.links.tags.schemas import TagJson
from waypost.resources.links.tags.schemas import to_json as tag_to_json

_EXPORT_BATCH = 1_000
CSV_COLUMNS = (*LinkJson.__annotations__, *LinkOptionsChange.model_fields)
_TAR_BLOCK = 512


class ExportedLink(LinkJson):
    is_enabled: bool
    """`status` is also inactive for an expired link."""
    uploaded_image: str | None
    """Name of the file that `og_image` is the URL of."""
    imported_clicks: int
    """Counted by another service before the link was imported; in no other figure."""
    options: dict[str, Any]
    routing: RoutingJson | None
    """None for a link without routing."""


def export(context: Context, account: Account, now: datetime) -> Files:
    db, id_ = context.db, account.id
    return {
        "links.ndjson": ndjson_file(export_account_data(context, id_, now)),
        "links.csv": csv_file(CSV_COLUMNS, export_account_data(context, id_, now), _csv_lines),
        "aliases.ndjson": ndjson_file(_aliases(db, id_)),
        "tags.ndjson": ndjson_file(_tags(db, id_)),
        "deleted_links.ndjson": ndjson_file(_deleted_links(db, id_)),
        "images.tar": _images(context, id_),
    }


def _csv_lines(batch: Sequence[ExportedLink]) -> str:
    return csv_text(map(_csv_cells, batch))


def _csv_cells(row: Mapping[str, Any]) -> Iterable[Any]:
    """Lists are separated by commas, UTM parameters written as a query."""
    for column in CSV_COLUMNS:
        value = row[column] if column in row else row["options"][column]
        if isinstance(value, list):
            yield ",".join(value)
        else:
            yield "&".join(f"{key}={text}" for key, text in value.items()) if isinstance(value, dict) else value


async def export_account_data(context: Context, account_id: UUID, now: datetime) -> AsyncIterator[list[ExportedLink]]:
    """Yield the links that exist at `now`, newest first."""
    order = links.c.created_at, links.c.id
    newest = select(*COLUMNS).where(links.c.account_id == account_id, links.c.created_at <= now, NOT_DELETED)
    newest = newest.order_by(*(column.desc() for column in order)).limit(_EXPORT_BATCH)
    query = newest
    while True:
        async with context.db.read_long() as tx:
            batch = [Link(*row) for row in await tx.execute(query)]
            imported = await find_imported_clicks(tx, [link.id for link in batch])
            routed = await routing.find_of_links(tx, [link.id for link in batch])
        yield [
            {
                **to_json(link, context),
                "options": options_of(link),
                "is_enabled": link.is_enabled,
                "uploaded_image": link.og_image_file_name,
                "imported_clicks": imported.get(link.id, 0),
                "routing": _routing_json(link, routed[link.id]) if link.id in routed else None,
            }
            for link in batch
        ]
        if len(batch) < _EXPORT_BATCH:
            break
        last = batch[-1]
        query = newest.where(tuple_(*order) < tuple_(literal(last.created_at, Instant), literal(last.id, Id)))


def _routing_json(link: Link, stored: LinkRouting) -> RoutingJson:
    return routing_to_json(link.id, stored, starts_at=link.starts_at, click_limit=link.click_limit)


async def _aliases(db: Database, account_id: UUID) -> AsyncIterator[list[AliasJson]]:
    """Yield the aliases as the API shows them, by link."""
    query = select(links.c.id).where(links.c.account_id == account_id, NOT_DELETED)
    async for rows in read_in_batches(db.read_long, query, links.c.id, _EXPORT_BATCH):
        async with db.read_long() as tx:
            found = await aliases.find_of_links(tx, [row.id for row in rows])
        yield [alias_to_json(alias) for of_link in found.values() for alias in of_link]


async def _tags(db: Database, account_id: UUID) -> AsyncIterator[list[TagJson]]:
    """Yield the tags as the API shows them, in alphabetical order."""
    request, is_last = PageRequest(1, _EXPORT_BATCH), False
    while not is_last:
        async with db.read_long() as tx:
            page = await tags.list_page(tx, account_id, "", request)
        yield [tag_to_json(tag) for tag in page.items]
        request, is_last = replace(request, page=request.page + 1), request.page >= page.last_page


class DeletedLinkJson(TypedDict):
    id: IdText
    slug: str
    created_at: TimestampText
    deleted_at: TimestampText


async def _deleted_links(db: Database, account_id: UUID) -> AsyncIterator[list[DeletedLinkJson]]:
    """Yield what is left of deleted links, by id: their clicks remain in the statistics of the account."""
    query = select(*(links.c[name] for name in DeletedLinkJson.__annotations__))
    query = query.where(links.c.account_id == account_id, ~NOT_DELETED)
    async for rows in read_in_batches(db.read_long, query, links.c.id, _EXPORT_BATCH):
        yield [json_object(DeletedLinkJson, row) for row in rows]


async def _images(context: Context, account_id: UUID) -> AsyncIterator[Part]:
    """Yield the uploaded images as a tar file: entries of a ZIP file stay in memory until its end."""
    from tarfile import TarInfo  # noqa: PLC0415  # for exports only

    has_image = links.c.og_image_file_name.is_not(None)
    query = select(links.c.id, links.c.og_image_file_name).where(links.c.account_id == account_id, NOT_DELETED)
    async for rows in read_in_batches(context.db.read_long, query.where(has_image), links.c.id, _EXPORT_BATCH):
        for row in rows:
            found = await context.image_store.find(row.og_image_file_name)
            content = await asyncio.to_thread(found.read_bytes) if isinstance(found, Path) else found
            if content is not None:
                header = TarInfo(row.og_image_file_name)
                header.size = len(content)
                yield Part(header.tobuf() + content + bytes(-len(content) % _TAR_BLOCK), 1)
    yield Part(bytes(2 * _TAR_BLOCK))


async def add_deleted_links(tx: Tx, account_id: UUID, rows: Sequence[tuple[UUID, str, datetime, datetime]]) -> None:
    """`rows`: id, slug, created_at, deleted_at."""
    deleted = (
        (Link(id_, account_id, created_at, at, slug=slug, title="", is_enabled=False), at)
        for id_, slug, created_at, at in rows
    )
    inserted = [bulk.to_row(links, asdict(link) | {"search_text": "", "deleted_at": at}) for link, at in deleted]
    await bulk.insert(tx, links, inserted, on_conflict="ON CONFLICT (id) DO NOTHING")


async def delete_account_data(context: Context, account_id: UUID) -> AsyncGenerator[None, None]:
    """Delete all links of the account. Yields after each transaction; the rows stay until `delete_rows`."""
    from waypost.resources.links.bulk import changes as bulk_changes  # noqa: PLC0415  # not loaded by an idle worker

    await bulk_changes.delete_all(context.db, context.image_store, account_id)
    is_more_left = True
    while is_more_left:
        async with context.db.write() as tx:
            deleted = await delete_batch(context.routes, tx, account_id, context.clock(), batch_size=DELETED_AT_ONCE)
        for link in deleted:
            await context.image_store.delete(link.og_image_file_name)
        is_more_left = len(deleted) >= DELETED_AT_ONCE
        if deleted:  # a job that is stopped after a step without effect would repeat that step forever
            yield
    while True:
        async with context.db.write() as tx:
            count = await tags.delete_all(tx, account_id, DELETED_AT_ONCE)
        if not count:
            return
        yield


async def delete_batch(
    routes: Routes, tx: Tx, account_id: UUID, now: datetime, *, batch_size: int, skip_locked: bool = False
) -> Sequence[Link]:
    """Delete up to `batch_size` links. Their slugs stay reserved: a printed QR code must not lead to another account.

    `skip_locked`: for a transaction that has locked the account's row. It must not wait for a link, whose transaction
    may wait for the account.
    """
    query = select(*COLUMNS).where(links.c.account_id == account_id, NOT_DELETED).limit(batch_size)
    query = query.with_for_update(of=links, skip_locked=skip_locked)
    deleted = [Link(*row) for row in await tx.execute(query)]
    if deleted:  # the account and its domains are deleted, too: their counters stay
        ids = [link.id for link in deleted]
        await store.hide(tx, deleted, now)
        await store.purge(tx, ids)
        await tx.execute(delete(link_tags).where(link_tags.c.account_id == account_id, link_tags.c.link_id.in_(ids)))
        await routes.changed(tx, [link.slug for link in deleted])
    return deleted


async def find_ids_after(tx: Tx, account_id: UUID, link_id: UUID, *, limit: int) -> Sequence[UUID]:
    """Return the next ids of deleted links: all are deleted by now, see `delete_account_data`."""
    query = select(links.c.id).where(links.c.account_id == account_id, links.c.id > link_id, ~NOT_DELETED)
    return (await tx.scalars(query.order_by(links.c.id).limit(limit))).all()


async def delete_rows(tx: Tx, ids: Sequence[UUID]) -> None:
    await tx.execute(delete(link_clicks).where(link_clicks.c.link_id.in_(ids)))
    await tx.execute(delete(imported_clicks).where(imported_clicks.c.link_id.in_(ids)))
    await tx.execute(delete(disabled_links).where(disabled_links.c.link_id.in_(ids)))
    await aliases.delete_of_links(tx, ids)  # hidden links have theirs until they are purged
    await routing.delete_of_links(tx, ids)
    await health.delete_of_links(tx, ids)
    await tx.execute(delete(links).where(links.c.id.in_(ids)))
