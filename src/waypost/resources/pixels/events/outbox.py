"""Records events in the transaction of their clicks: they exist if and only if it commits."""

import json
from collections.abc import Collection, Iterable
from datetime import datetime
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select

from waypost.database import Tx, bulk
from waypost.kit.clock import microseconds
from waypost.resources.pixels.events.model import PageView, pixel_events
from waypost.resources.pixels.model import pixels

PLATFORMS = ("facebook", "tiktok", "pinterest")
"""Platforms with an endpoint for which a token is enough."""

_AT_ONCE = 500  # rows, or parameters, of one statement


class PixelEvent(NamedTuple):
    """A page view to report for a pixel."""

    id: UUID
    """The same when the same view is recorded again, which has no effect."""
    pixel_id: UUID
    platform: str
    event: PageView


async def with_server_events(tx: Tx, pixel_ids: Collection[UUID]) -> set[UUID]:
    """Which of these pixels have server-side events."""
    ids, found = list(pixel_ids), set[UUID]()
    conditions = (pixels.c.platform.in_(PLATFORMS), pixels.c.access_token.is_not(None))
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        found |= set(await tx.scalars(select(pixels.c.id).where(pixels.c.id.in_(some), *conditions)))
    return found


async def record_all(tx: Tx, events: Iterable[PixelEvent], *, now: datetime) -> None:
    """Insert in groups, so that memory and pauses of the event loop do not grow with the number of events."""
    at = microseconds(now)
    rows = (_row(each, at) for each in events)
    while group := list(islice(rows, _AT_ONCE)):
        await bulk.insert(tx, pixel_events, group, on_conflict="ON CONFLICT (id) DO NOTHING")


def _row(each: PixelEvent, at: int) -> bulk.BulkRow:
    payload = json.dumps(each.event, separators=(",", ":"))
    return each.id.bytes, each.pixel_id.bytes, each.platform, payload, at
