"""What clicks ask of links: whose they are, and to count. Deleted links keep their account and their count."""

from collections.abc import Collection, Iterable
from uuid import UUID

from sqlalchemy import func, select

from waypost.database import Tx, bulk
from waypost.resources.links.model import ALIVE, link_clicks, links

_ADDED = "ON CONFLICT (link_id) DO UPDATE SET clicks = link_clicks.clicks + excluded.clicks"
_AT_ONCE = 500  # parameters of one statement


async def find_accounts(tx: Tx, link_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """The account of each link there is or ever was."""
    ids = list(link_ids)
    found: dict[UUID, UUID] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        rows = await tx.execute(select(links.c.id, links.c.account_id).where(links.c.id.in_(some)))
        found |= {row.id: row.account_id for row in rows}
    return found


async def count_clicks(tx: Tx, account_id: UUID) -> int:
    """Of its links, deleted ones too."""
    counted = select(func.sum(link_clicks.c.clicks)).where(link_clicks.c.account_id == account_id)
    return int(await tx.scalar(counted) or 0)


async def find_busy(tx: Tx, account_id: UUID, clicks: int) -> list[UUID]:
    """Those that are there and have more clicks than that."""
    c = link_clicks.c
    found = select(links.c.id).join(link_clicks, c.link_id == links.c.id).where(c.account_id == account_id)
    return list(await tx.scalars(found.where(c.clicks > clicks, ALIVE)))


async def add_clicks(tx: Tx, counts: Iterable[tuple[bytes, bytes, int]]) -> None:
    """`counts`: (id of the link, of its account, clicks). Written in order: neighbouring rows lie together.

    The caller holds the lock on figures, which keeps drainers apart.
    """
    await bulk.insert(tx, link_clicks, sorted(counts), on_conflict=_ADDED)
