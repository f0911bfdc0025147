"""Events on their way into the job table, in the transaction of the clicks they tell of."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import select

from waypost.database import Tx
from waypost.resources.pixels.events.model import Event
from waypost.resources.pixels.model import pixels
from waypost.worker import jobs

JOB = "pixels.send_events"
PLATFORMS = ("facebook", "tiktok", "pinterest")
"""Those with an endpoint that a token is enough for."""
AT_ONCE = 500
"""Events of one request. Each platform takes 1,000, but one bad event can cost all of its request."""

_PARAMETERS = 500  # of one statement


async def wanted(tx: Tx, pixel_ids: Collection[UUID]) -> set[UUID]:
    """Which of these pixels are told of visits by us."""
    ids, found = list(pixel_ids), set[UUID]()
    told = (pixels.c.platform.in_(PLATFORMS), pixels.c.access_token.is_not(None))
    for start in range(0, len(ids), _PARAMETERS):
        some = ids[start : start + _PARAMETERS]
        found |= set(await tx.scalars(select(pixels.c.id).where(pixels.c.id.in_(some), *told)))
    return found


async def send_later(tx: Tx, events: Mapping[UUID, Sequence[Event]], *, now: datetime) -> None:
    """`events` by our pixel's id."""
    for pixel, its in events.items():
        for start in range(0, len(its), AT_ONCE):
            payload = {"pixel": pixel.hex, "events": its[start : start + AT_ONCE]}
            await jobs.enqueue(tx, JOB, payload, now=now)
