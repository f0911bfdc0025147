"""A page view as it is reported to platforms; the tables of pending events and of results.

Results are for the pixel's owner. They are added in the transaction that deletes the events: once.
"""

from dataclasses import astuple, dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table, Text, func, literal, select

from waypost.database import Id, Instant, Tx, metadata, upsert
from waypost.resources.pixels.model import pixels

pixel_events = Table(
    "pixel_events",
    metadata,
    Column("id", Id, primary_key=True),  # begins with the click's time, and follows from click and pixel
    Column("pixel_id", Id, nullable=False),
    Column("platform", Text, nullable=False),  # the pixel's, when it fired
    Column("payload", Text, nullable=False),  # a PageView, as JSON
    Column("created_at", Instant, nullable=False),
)
Index("ix_pixel_events_pixel", pixel_events.c.pixel_id, pixel_events.c.id)

pixel_results = Table(
    "pixel_results",
    metadata,
    Column("pixel_id", Id, ForeignKey("pixels.id", ondelete="CASCADE"), primary_key=True),
    Column("sent", BigInteger, nullable=False),
    Column("rejected", BigInteger, nullable=False),  # by the platform
    Column("dropped", BigInteger, nullable=False),  # by this service: see EventResults
    Column("sent_at", Instant),
    Column("reason", Text),  # why the latest of the other events were not accepted
    Column("reason_at", Instant),
)
_results = pixel_results.c


class PageView(NamedTuple):
    """In JSON, a list of these fields."""

    id: str
    """The id of the click, with hyphens. The tag in the browser sends it, too, so that a platform counts one event."""
    at: int
    """Seconds since 1970."""
    url: str
    ip: str
    """The stored part of it; "" for none."""
    user_agent: str
    referrer: str


@dataclass(frozen=True, slots=True)
class EventResults:
    """Numbers of events by result."""

    sent: int = 0
    rejected: int = 0
    """Rejected by the platform, permanently."""
    dropped: int = 0
    """Not sent: too old, too many, without data that the platform requires, or tried too often."""
    sent_at: datetime | None = None
    reason: str | None = None
    """Why the latest of the other events were not accepted."""
    reason_at: datetime | None = None


async def find_results(tx: Tx, pixel_id: UUID) -> EventResults:
    row = (await tx.execute(select(pixel_results).where(_results.pixel_id == pixel_id))).one_or_none()
    return EventResults(*row[1:]) if row else EventResults()


async def add_results(tx: Tx, pixel_id: UUID, new: EventResults) -> None:
    """Add `new` to the stored results. Nothing is stored for a deleted pixel."""
    values = (literal(value, column.type) for value, column in zip(astuple(new), list(_results)[1:], strict=True))
    statement = upsert(tx, pixel_results).from_select(
        list(_results.keys()), select(pixels.c.id, *values).where(pixels.c.id == pixel_id)
    )
    added = {name: _results[name] + statement.excluded[name] for name in ("sent", "rejected", "dropped")}
    newest = {
        name: func.coalesce(statement.excluded[name], _results[name]) for name in ("sent_at", "reason", "reason_at")
    }
    await tx.execute(statement.on_conflict_do_update(index_elements=["pixel_id"], set_=added | newest))
