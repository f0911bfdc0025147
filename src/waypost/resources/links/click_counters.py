"""SQL of click counters of links, and of totals that other services counted."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy import Subquery, func, select

from waypost.database import Tx, bulk
from waypost.resources.links.model import NOT_DELETED, imported_clicks, link_clicks, links
from waypost.resources.links.store import find_accounts

_ADD_CLICKS = (
    "ON CONFLICT (link_id) DO UPDATE SET clicks = link_clicks.clicks + excluded.clicks, last_click_at = CASE WHEN"
    " link_clicks.last_click_at > excluded.last_click_at THEN link_clicks.last_click_at ELSE excluded.last_click_at END"
)
_SET_CLICKS = "ON CONFLICT (link_id) DO UPDATE SET clicks = excluded.clicks"


async def find_busy(tx: Tx, account_id: UUID, clicks: int) -> list[UUID]:
    """Return links with more than `clicks` clicks, without deleted ones."""
    counters = link_clicks.c
    query = select(links.c.id).join(link_clicks, counters.link_id == links.c.id)
    query = query.where(counters.account_id == account_id, counters.clicks > clicks, NOT_DELETED)
    return list(await tx.scalars(query))


async def find_clicks(tx: Tx, link_id: UUID) -> int:
    """Return 0 for an unknown link."""
    query = select(link_clicks.c.clicks).where(link_clicks.c.link_id == link_id)
    return (await tx.execute(query)).scalar_one_or_none() or 0


async def count_clicks(tx: Tx, account_id: UUID) -> int:
    """Count the clicks of all links of the account, deleted ones included."""
    query = select(func.sum(link_clicks.c.clicks)).where(link_clicks.c.account_id == account_id)
    return int(await tx.scalar(query) or 0)


async def has_clicks(tx: Tx, account_id: UUID) -> bool:
    """Return whether anybody has clicked a link of the account."""
    counters = link_clicks.c
    query = select(counters.link_id).where(counters.account_id == account_id, counters.clicks > 0).limit(1)
    return (await tx.execute(query)).first() is not None


async def add_clicks(tx: Tx, counts: Iterable[tuple[bytes, bytes, int]], *, last_at: int) -> None:
    """`counts`: (id of the link, id of its account, clicks). `last_at`: the last click of all, in microseconds.

    The caller has the lock on statistics, so that one drainer writes at a time. Sorted: neighboring rows share pages.
    """
    await bulk.insert(tx, link_clicks, sorted((*row, last_at) for row in counts), on_conflict=_ADD_CLICKS)


async def find_wrong_clicks(tx: Tx, expected: Subquery) -> Sequence[UUID]:
    """Return links whose counter differs or is missing. `expected`: (id, clicks) of every link."""
    counter = func.coalesce(link_clicks.c.clicks, -1)
    query = select(expected.c.id).outerjoin(link_clicks, link_clicks.c.link_id == expected.c.id)
    return (await tx.scalars(query.where(counter != expected.c.clicks))).all()


async def set_clicks(tx: Tx, clicks: Mapping[UUID, int]) -> None:
    accounts = await find_accounts(tx, clicks)
    rows = sorted((id_.bytes, accounts[id_].bytes, count, None) for id_, count in clicks.items() if id_ in accounts)
    await bulk.insert(tx, link_clicks, rows, on_conflict=_SET_CLICKS)


async def count_imported_clicks(tx: Tx, account_id: UUID) -> int:
    """Sum up what other services counted for links of the account, deleted ones included."""
    query = select(func.sum(imported_clicks.c.clicks)).where(imported_clicks.c.account_id == account_id)
    return int(await tx.scalar(query) or 0)


async def find_imported_clicks(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, int]:
    """Return what another service counted for links that were imported without their clicks."""
    query = select(imported_clicks.c.link_id, imported_clicks.c.clicks).where(imported_clicks.c.link_id.in_(ids))
    return {row.link_id: row.clicks for row in await tx.execute(query)}


async def set_imported_clicks(tx: Tx, account_id: UUID, counts: Mapping[UUID, int]) -> None:
    """Keep totals that other services counted. They are shown apart from clicks."""
    rows = sorted((id_.bytes, account_id.bytes, count) for id_, count in counts.items())
    await bulk.insert(
        tx, imported_clicks, rows, on_conflict="ON CONFLICT (link_id) DO UPDATE SET clicks = excluded.clicks"
    )
