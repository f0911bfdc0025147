"""Results of a pixel's events, for its owner. They are added in the transaction that deletes the events: once."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, Text, func, literal, select
from sqlalchemy.dialects import postgresql, sqlite

from waypost.database import Instant, Tx
from waypost.resources.pixels.events.model import pixel_results
from waypost.resources.pixels.model import pixels

_R = pixel_results.c


@dataclass(frozen=True, slots=True)
class EventResults:
    sent: int = 0
    rejected: int = 0
    """Rejected permanently by the platform."""
    dropped: int = 0
    """By this service: too old, too many, without data that the platform requires, or tried too often."""
    sent_at: datetime | None = None
    reason: str | None = None
    """Of the latest events that were not accepted; later ones may have been."""
    reason_at: datetime | None = None


async def results_of(tx: Tx, pixel_id: UUID) -> EventResults:
    columns = (_R[name] for name in EventResults.__dataclass_fields__)
    row = (await tx.execute(select(*columns).where(_R.pixel_id == pixel_id))).one_or_none()
    return EventResults(*row) if row else EventResults()


async def add_results(tx: Tx, pixel_id: UUID, new: EventResults) -> None:
    """Add `new` to the stored results. Nothing is stored for a deleted pixel."""
    values = (
        literal(new.sent, BigInteger),
        literal(new.rejected, BigInteger),
        literal(new.dropped, BigInteger),
        literal(new.sent_at, Instant),
        literal(new.reason, Text),
        literal(new.reason_at, Instant),
    )
    insert = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    statement = insert(pixel_results).from_select(
        list(_R.keys()), select(pixels.c.id, *values).where(pixels.c.id == pixel_id)
    )
    added = {name: _R[name] + statement.excluded[name] for name in ("sent", "rejected", "dropped")}
    newest = {name: func.coalesce(statement.excluded[name], _R[name]) for name in ("sent_at", "reason", "reason_at")}
    await tx.execute(statement.on_conflict_do_update(index_elements=["pixel_id"], set_=added | newest))
