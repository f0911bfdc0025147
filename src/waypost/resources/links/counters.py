"""What clicks ask of links: whose they are, and to count. Deleted links keep their account and their count."""

from collections.abc import Collection, Mapping
from uuid import UUID

from sqlalchemy import bindparam, select, update

from waypost.database import Id, Tx
from waypost.resources.links.model import links

_ADD = (
    update(links).where(links.c.id == bindparam("link_id", type_=Id)).values(clicks=links.c.clicks + bindparam("more"))
)
_AT_ONCE = 500  # parameters of one statement


async def accounts_of(tx: Tx, link_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """The account of each link there is or ever was."""
    ids = list(link_ids)
    found: dict[UUID, UUID] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        rows = await tx.execute(select(links.c.id, links.c.account_id).where(links.c.id.in_(some)))
        found |= {row.id: row.account_id for row in rows}
    return found


async def add_clicks(tx: Tx, counts: Mapping[UUID, int]) -> None:
    """In the order of the ids, so that two drainers of different machines never wait for each other in a circle."""
    if counts:
        await tx.execute(_ADD, [{"link_id": link_id, "more": counts[link_id]} for link_id in sorted(counts)])
