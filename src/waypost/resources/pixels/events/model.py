"""A page view as it is reported to platforms; the tables of pending events, of requests in progress and of results."""

from typing import NamedTuple

from sqlalchemy import BigInteger, Column, ForeignKey, Index, SmallInteger, Table, Text

from waypost.database import Id, Instant, metadata

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

# The oldest events of a pixel, while one request with them is in progress or waits for its next attempt.
pixel_lots = Table(
    "pixel_lots",
    metadata,
    Column("pixel_id", Id, primary_key=True),
    Column("last_event", Id, nullable=False),
    Column("attempts", SmallInteger, nullable=False),  # started
    Column("next_attempt_at", Instant, nullable=False),
    Column("leased_until", Instant),
    sqlite_with_rowid=False,
)
Index("ix_pixel_lots_lease", pixel_lots.c.leased_until)

pixel_results = Table(
    "pixel_results",
    metadata,
    Column("pixel_id", Id, ForeignKey("pixels.id", ondelete="CASCADE"), primary_key=True),
    Column("sent", BigInteger, nullable=False),
    Column("rejected", BigInteger, nullable=False),  # by the platform
    Column("dropped", BigInteger, nullable=False),  # by this service: see `results`
    Column("sent_at", Instant),
    Column("reason", Text),  # of the latest events that were not accepted
    Column("reason_at", Instant),
)


class PageView(NamedTuple):
    """In JSON, a list of these fields."""

    id: str
    """The click's, with hyphens. The tag in the browser sends the same id, so that a platform counts one event."""
    at: int
    """Seconds since 1970."""
    url: str
    ip: str
    """As much of it as is stored; "" for none."""
    user_agent: str
    referrer: str
