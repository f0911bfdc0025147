"""What clicks ask of codes: to count scans. A deleted link's code keeps its count, too."""

from collections.abc import Mapping

from waypost.database import Tx, bulk
from waypost.resources.qrcodes.model import qr_scans

_ADDED = "ON CONFLICT (link_id) DO UPDATE SET scans = qr_scans.scans + excluded.scans"


async def add_scans(tx: Tx, counts: Mapping[bytes, int]) -> None:
    """By the links' ids as bytes, and in their order. The caller holds the lock on figures."""
    await bulk.insert(tx, qr_scans, sorted(counts.items()), on_conflict=_ADDED)
