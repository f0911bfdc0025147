"""Counts scans, and deletes the rows of deleted links."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import Subquery, delete, func, select

from waypost.database import Tx, bulk
from waypost.resources.qrcodes.model import qr_scans, qr_styles

_SET_SCANS = "ON CONFLICT (link_id) DO UPDATE SET scans = excluded.scans"
_ADD_SCANS = "ON CONFLICT (link_id) DO UPDATE SET scans = qr_scans.scans + excluded.scans"


async def add_scans(tx: Tx, counts: Mapping[bytes, int]) -> None:
    """`counts`: scans by link id as bytes, deleted links included. The caller has the lock on statistics."""
    await bulk.insert(tx, qr_scans, sorted(counts.items()), on_conflict=_ADD_SCANS)


async def find_wrong_scans(tx: Tx, expected: Subquery) -> Sequence[UUID]:
    """Return links whose counter differs. `expected`: (id, scans) of every link."""
    query = select(expected.c.id).outerjoin(qr_scans, qr_scans.c.link_id == expected.c.id)
    return (await tx.scalars(query.where(func.coalesce(qr_scans.c.scans, 0) != expected.c.scans))).all()


async def set_scans(tx: Tx, scans: Mapping[UUID, int]) -> None:
    rows = sorted((id_.bytes, count) for id_, count in scans.items())
    await bulk.insert(tx, qr_scans, rows, on_conflict=_SET_SCANS)


async def delete_for_links(tx: Tx, link_ids: Sequence[UUID]) -> None:
    for table in (qr_styles, qr_scans):
        await tx.execute(delete(table).where(table.c.link_id.in_(link_ids)))
