"""Adds many links in one transaction, for imports: without visits to destinations, without events.

The caller checks the fields, and publishes the slugs.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy import select

from waypost import accounts
from waypost.database import Tx, bulk
from waypost.kit.clock import microseconds
from waypost.kit.errors import NotFound
from waypost.resources import domains
from waypost.resources.links import rules
from waypost.resources.links.model import (
    COLUMNS,
    NOT_DELETED,
    Link,
    imported_clicks,
    link_clicks,
    link_tags,
    links,
    slugs,
)

SlugOwner = tuple[UUID, UUID | None]
"""The account that has a slug, and the link that uses it."""

_MAX_PARAMETERS = 500  # per statement
_TAKE_OWN = (
    "ON CONFLICT (slug) DO UPDATE SET link_id = excluded.link_id"
    " WHERE slugs.account_id = excluded.account_id AND slugs.link_id IS NULL"
)
_COPIED = [name for name in Link.__dataclass_fields__ if name in links.c]
_TAKE_UNUSED = "ON CONFLICT (slug) DO NOTHING"


async def find_slug_owners(tx: Tx, texts: Iterable[str]) -> dict[str, SlugOwner]:
    """Return who has those of the slugs that were ever used."""
    return {
        slug: (UUID(bytes=account), UUID(bytes=link) if link else None)
        for slug, account, link in await bulk.find(tx, slugs, [(text,) for text in sorted(set(texts))])
    }


async def reserve_slugs(tx: Tx, drafts: Sequence[Link]) -> dict[UUID, SlugOwner]:
    """Reserve the slugs that are unused, or that the account used before. Return who has the others, by draft."""
    return await _reserve(tx, drafts, _TAKE_OWN)


async def reserve_unlinked(tx: Tx, account_id: UUID, unlinked: Iterable[str]) -> None:
    """Reserve the slugs of deleted links for the account, as far as they are unused."""
    rows = [(slug, account_id.bytes, None) for slug in sorted({*unlinked})]
    await bulk.insert(tx, slugs, rows, on_conflict="ON CONFLICT (slug) DO NOTHING")


async def generate_slugs(tx: Tx, drafts: Sequence[Link], reserved: Collection[str]) -> list[Link]:
    """Return the drafts with slugs that were never used, in another order."""
    done: list[Link] = []
    attempt = 0
    while drafts:
        named = [replace(draft, slug=rules.generate_slug(attempt, reserved)) for draft in drafts]
        taken = await _reserve(tx, named, _TAKE_UNUSED)
        done += (link for link in named if link.id not in taken)
        drafts = [link for link in named if link.id in taken]
        attempt += 1
    return done


async def _reserve(tx: Tx, drafts: Sequence[Link], on_conflict: str) -> dict[UUID, SlugOwner]:
    first = {draft.slug: draft for draft in reversed(drafts)}  # PostgreSQL refuses a slug twice in one statement
    # sorted: two imports that want the same slugs wait for each other in the same order
    rows = sorted((draft.slug, draft.account_id.bytes, draft.id.bytes) for draft in first.values())
    await bulk.insert(tx, slugs, rows, on_conflict=on_conflict)
    owners = await find_slug_owners(tx, first)
    return {draft.id: owners[draft.slug] for draft in drafts if owners[draft.slug][1] != draft.id}


async def add_all(tx: Tx, account_id: UUID, new: Sequence[Link], alias_texts: Mapping[UUID, str]) -> None:
    """Insert links of one account whose slugs are reserved. Raises NotFound if the account has been deleted.

    `alias_texts`: the `to_search_text` of the links that have aliases.
    """
    if not new:
        return
    await bulk.insert(tx, links, [_row(link, alias_texts.get(link.id, "")) for link in new])
    await bulk.insert(tx, link_clicks, [(link.id.bytes, account_id.bytes, 0) for link in new])
    tags = ((account_id.bytes, tag, link.id.bytes) for link in new for tag in link.tags)
    await bulk.insert(tx, link_tags, sorted(tags))
    await domains.change_links_counts(tx, ((None, link.domain_id) for link in new))
    if not await accounts.adjust_links_count(tx, account_id, len(new)):
        raise NotFound


async def find_all(tx: Tx, account_id: UUID, ids: Iterable[UUID]) -> dict[UUID, Link]:
    """Return those of the links that are not deleted."""
    return {
        row.id: Link(*row)
        for batch in _batches(ids)
        for row in await tx.execute(
            select(*COLUMNS).where(links.c.id.in_(batch), links.c.account_id == account_id, NOT_DELETED)
        )
    }


async def find_existing(tx: Tx, account_id: UUID, ids: Iterable[UUID]) -> dict[UUID, UUID | None]:
    """Return the domain of each of the links that is not deleted; None is the shared domain."""
    query = select(links.c.id, links.c.domain_id).where(links.c.account_id == account_id, NOT_DELETED)
    return {
        row.id: row.domain_id for batch in _batches(ids) for row in await tx.execute(query.where(links.c.id.in_(batch)))
    }


async def set_imported_clicks(tx: Tx, account_id: UUID, counts: Mapping[UUID, int]) -> None:
    """Keep totals that other services counted. They are shown apart from clicks."""
    rows = sorted((id_.bytes, account_id.bytes, count) for id_, count in counts.items())
    await bulk.insert(
        tx, imported_clicks, rows, on_conflict="ON CONFLICT (link_id) DO UPDATE SET clicks = excluded.clicks"
    )


def _batches(ids: Iterable[UUID]) -> Iterable[Sequence[UUID]]:
    remaining = list(ids)
    return (remaining[start : start + _MAX_PARAMETERS] for start in range(0, len(remaining), _MAX_PARAMETERS))


def _row(link: Link, alias_text: str) -> bulk.BulkRow:
    values: dict[str, Any] = {name: getattr(link, name) for name in _COPIED} | {
        "id": link.id.bytes,
        "account_id": link.account_id.bytes,
        "domain_id": link.domain_id.bytes if link.domain_id else None,
        "utm_params": json.dumps(link.utm_params, ensure_ascii=False),
        "tags": json.dumps(link.tags, ensure_ascii=False),
        "search_text": link.search_text + alias_text,
        "expires_at": microseconds(link.expires_at) if link.expires_at else None,
        "starts_at": microseconds(link.starts_at) if link.starts_at else None,
        "created_at": microseconds(link.created_at),
        "updated_at": microseconds(link.updated_at),
    }
    return tuple(values.get(name) for name in links.c.keys())  # noqa: SIM118  # not a dictionary
