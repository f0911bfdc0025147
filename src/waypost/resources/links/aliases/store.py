"""SQL of aliases. Other packages use it inside their transactions.

A query ignores aliases of deleted domains and, where it finds redirects, those of deleted links.
"""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from sqlalchemy import BindParameter, Column, ColumnElement, Select, func, select
from sqlalchemy import delete as delete_from

from waypost.database import Database, Tx, batches_of, bulk, read_in_batches, rows_with
from waypost.kit.errors import or_not_found
from waypost.kit.pagination import PageRequest
from waypost.redirect import near_change
from waypost.resources import domains
from waypost.resources.links.aliases.model import Alias, link_aliases
from waypost.resources.links.aliases.rules import MAX_ALIASES, digest, folded_digest

AliasAddress = tuple[UUID, str]
"""Domain and path."""

_COLUMNS = (
    *link_aliases.c["id", "account_id", "link_id", "domain_id"],
    domains.hostname_subquery(link_aliases.c.domain_id).label("hostname"),
    *link_aliases.c["path", "created_at"],
)
_HAS_DOMAIN = ~domains.is_on_shared_domain(link_aliases.c.domain_id)
_OLDEST = link_aliases.c.created_at, link_aliases.c.id
_READ_AT_ONCE = 500


async def add_many(tx: Tx, aliases: Sequence[Alias]) -> int:
    """Insert aliases whose paths have no `find_path_problem`. Those whose address is taken are left out.

    Return how many were added: the caller finds the others with `find_links`. It also

    - appends `to_search_text` of all paths of a link to the link's `search_text`, so that searches find them,
    - calls `routes.changed` with `route_changes`.

    A concurrent insert of one of the addresses waits for this transaction.
    """
    rows = [bulk.to_row(link_aliases, asdict(alias) | _digests(alias.path)) for alias in aliases]
    return await bulk.insert(tx, link_aliases, rows, on_conflict="ON CONFLICT (domain_id, digest) DO NOTHING")


def route_changes(added: Iterable[Alias]) -> set[str]:
    """Return what to publish for new aliases. Redirects look for aliases only on hosts that have some."""
    return {change for alias in added for change in (alias.hostname, near_change(alias.path))}


async def find_links(tx: Tx, addresses: Iterable[AliasAddress]) -> dict[AliasAddress, UUID]:
    """Return the id of the link for each of the addresses that is an alias."""
    by_domain: dict[UUID, dict[UUID, str]] = {}
    for domain_id, path in addresses:
        by_domain.setdefault(domain_id, {})[digest(path)] = path
    found: dict[AliasAddress, UUID] = {}
    for domain_id, paths in by_domain.items():
        query = select(*link_aliases.c["digest", "link_id"]).where(link_aliases.c.domain_id == domain_id)
        rows = await rows_with(tx, query, link_aliases.c.digest, paths)
        found |= {(domain_id, paths[digest_]): link_id for digest_, link_id in rows}
    return found


async def find_of_links(tx: Tx, link_ids: Sequence[UUID]) -> Mapping[UUID, list[Alias]]:
    """Return the aliases of each link that has some, oldest first. For exports: links of any number at a time."""
    found: dict[UUID, list[Alias]] = {}
    query = select(*_COLUMNS).where(_HAS_DOMAIN).order_by(*_OLDEST)
    for row in await rows_with(tx, query, link_aliases.c.link_id, link_ids):
        found.setdefault(row.link_id, []).append(Alias(*row))
    return found


async def count(tx: Tx, link_id: UUID) -> int:
    query = select(func.count()).select_from(link_aliases).where(link_aliases.c.link_id == link_id, _HAS_DOMAIN)
    return (await tx.execute(query)).scalar_one()


async def split_by_limit(tx: Tx, new: Sequence[Alias]) -> tuple[list[Alias], list[Alias]]:
    """Return the aliases that their links may get besides those that they have, and the others. In this order."""
    query = select(link_aliases.c.link_id, func.count()).where(_HAS_DOMAIN).group_by(link_aliases.c.link_id)
    counts = Counter[UUID](dict(await rows_with(tx, query, link_aliases.c.link_id, {alias.link_id for alias in new})))
    within, beyond = list[Alias](), list[Alias]()
    for alias in new:
        counts[alias.link_id] += 1
        (within if counts[alias.link_id] <= MAX_ALIASES else beyond).append(alias)
    return within, beyond


async def list_page(tx: Tx, link_id: UUID, request: PageRequest) -> tuple[list[Alias], int]:
    """Return the aliases of the page, newest first, and the total."""
    newest = select(*_COLUMNS).where(link_aliases.c.link_id == link_id, _HAS_DOMAIN)
    newest = newest.order_by(*(column.desc() for column in _OLDEST))
    rows = await tx.execute(newest.limit(request.per_page).offset(request.offset))
    return [Alias(*row) for row in rows], await count(tx, link_id)


async def get(tx: Tx, link_id: UUID, alias_id: UUID) -> Alias:
    """Raises NotFound."""
    query = select(*_COLUMNS).where(link_aliases.c.id == alias_id, link_aliases.c.link_id == link_id, _HAS_DOMAIN)
    return or_not_found(await tx.find(Alias, query))


async def delete(tx: Tx, ids: Collection[UUID]) -> None:
    """Delete aliases whose links the transaction has locked, and whose `search_text` the caller updates."""
    for batch in batches_of(ids):
        await tx.execute(delete_from(link_aliases).where(link_aliases.c.id.in_(batch)))


async def delete_of_links(tx: Tx, link_ids: Sequence[UUID]) -> None:
    """Cached routes of these aliases need no message: they lead to a slug that no longer has a link."""
    await tx.execute(delete_from(link_aliases).where(link_aliases.c.link_id.in_(link_ids)))


async def find_of_domain(tx: Tx, domain_id: UUID, limit: int) -> dict[UUID, UUID]:
    """Return up to `limit` aliases of a deleted domain, as the id of each with the id of its link."""
    query = select(link_aliases.c.id, link_aliases.c.link_id).where(link_aliases.c.domain_id == domain_id).limit(limit)
    return {row.id: row.link_id for row in await tx.execute(query)}


def has_aliases(domain_id: Column[Any]) -> ColumnElement[bool]:
    """SQL condition: links have aliases on the domain."""
    return select(link_aliases.c.id).where(link_aliases.c.domain_id == domain_id).exists()


def select_target(hostname: BindParameter[str], digest: BindParameter[UUID]) -> Select[UUID]:
    """Select the `link_id` of the alias with this digest on a served host."""
    domain_id = domains.served_id_subquery(hostname)
    return select(link_aliases.c.link_id).where(link_aliases.c.domain_id == domain_id, link_aliases.c.digest == digest)


def select_near(hostname: BindParameter[str], digest: BindParameter[UUID]) -> Select[UUID]:
    """Select the `link_id` of the aliases on a served host whose case-folded paths have this digest."""
    domain_id = domains.served_id_subquery(hostname)
    return select(link_aliases.c.link_id).where(link_aliases.c.domain_id == domain_id, link_aliases.c.folded == digest)


async def read_paths(db: Database) -> AsyncIterator[Sequence[str]]:
    """Yield the paths of all aliases, in batches."""
    query = select(link_aliases.c.id, link_aliases.c.path)
    async for rows in read_in_batches(db.read, query, link_aliases.c.id, _READ_AT_ONCE):
        yield [row.path for row in rows]


def _digests(path: str) -> dict[str, UUID]:
    return {"digest": digest(path), "folded": folded_digest(path)}
