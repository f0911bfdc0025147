"""Queries and counters of links for other packages, inside their transactions."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy import Subquery, func, select

from waypost.database import Tx, bulk
from waypost.kit.errors import NotFound
from waypost.resources.links import store
from waypost.resources.links.model import ALIVE, HOSTNAME, Link, link_clicks, links

_ADD = "ON CONFLICT (link_id) DO UPDATE SET clicks = link_clicks.clicks + excluded.clicks"
_SET = "ON CONFLICT (link_id) DO UPDATE SET clicks = excluded.clicks"
_BATCH = 500  # parameters of one statement

SHORT_LINKS = select(
    *(links.c.id, links.c.account_id, HOSTNAME.label("hostname"), links.c.slug, links.c.created_at, links.c.deleted_at)
).subquery("short_links")
"""Every link, deleted ones included, for the statements of other packages. The databases merge it into them."""


async def require(tx: Tx, account_id: UUID, link_id: UUID) -> Link:
    """Raises NotFound, also for another account's link and for a deleted one."""
    link = await store.find(tx, account_id, link_id)
    if link is None:
        raise NotFound
    return link


async def check_exists(tx: Tx, account_id: UUID, link_id: UUID) -> None:
    """Raises NotFound, as `require` does, without reading the link."""
    found = select(links.c.id).where(links.c.id == link_id, links.c.account_id == account_id, ALIVE)
    if (await tx.execute(found)).first() is None:
        raise NotFound


async def find_names(tx: Tx, ids: Sequence[UUID], *, shared_domain: str) -> dict[UUID, tuple[str, str]]:
    """(short URL, title) of each link that is not deleted. For about a page of ids."""
    hostname = func.coalesce(HOSTNAME, shared_domain)
    found = await tx.execute(
        select(links.c.id, hostname, links.c.slug, links.c.title).where(links.c.id.in_(ids), ALIVE)
    )
    return {link_id: (f"{host}/{slug}", title) for link_id, host, slug, title in found}


async def find_accounts(tx: Tx, link_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """The account of each link, also of deleted ones."""
    ids = list(link_ids)
    found: dict[UUID, UUID] = {}
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        rows = await tx.execute(select(links.c.id, links.c.account_id).where(links.c.id.in_(batch)))
        found |= {row.id: row.account_id for row in rows}
    return found


async def find_busy(tx: Tx, account_id: UUID, clicks: int) -> list[UUID]:
    """Links with more clicks than that, without deleted ones."""
    c = link_clicks.c
    found = select(links.c.id).join(link_clicks, c.link_id == links.c.id).where(c.account_id == account_id)
    return list(await tx.scalars(found.where(c.clicks > clicks, ALIVE)))


async def count_clicks(tx: Tx, account_id: UUID) -> int:
    """Clicks of all links of the account, also of deleted ones."""
    counted = select(func.sum(link_clicks.c.clicks)).where(link_clicks.c.account_id == account_id)
    return int(await tx.scalar(counted) or 0)


async def add_clicks(tx: Tx, counts: Iterable[tuple[bytes, bytes, int]]) -> None:
    """`counts`: (id of the link, id of its account, clicks). Sorted, because neighbouring rows share pages.

    The caller holds the lock on statistics, which keeps drainers apart.
    """
    await bulk.insert(tx, link_clicks, sorted(counts), on_conflict=_ADD)


async def find_wrong_clicks(tx: Tx, expected: Subquery) -> Sequence[UUID]:
    """Links whose counter differs or is missing. `expected`: (id, clicks) of every link."""
    counter = func.coalesce(link_clicks.c.clicks, -1)
    wrong = select(expected.c.id).outerjoin(link_clicks, link_clicks.c.link_id == expected.c.id)
    return (await tx.scalars(wrong.where(counter != expected.c.clicks))).all()


async def set_clicks(tx: Tx, clicks: Mapping[UUID, int]) -> None:
    accounts = await find_accounts(tx, clicks)
    rows = sorted((id_.bytes, accounts[id_].bytes, count) for id_, count in clicks.items() if id_ in accounts)
    await bulk.insert(tx, link_clicks, rows, on_conflict=_SET)
