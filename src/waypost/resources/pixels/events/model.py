"""A page view as platforms are told of it, and the tables of those on their way and of what platforms said."""

from typing import NamedTuple

from sqlalchemy import BigInteger, Column, ForeignKey, Index, SmallInteger, Table, Text

from waypost.database import Id, Instant, metadata

pixel_events = Table(
    "pixel_events",
    metadata,
    Column("id", Id, primary_key=True),  # begins with the click's time, and follows from click and pixel
    Column("pixel_id", Id, nullable=False),
    Column("platform", Text, nullable=False),  # that the pixel had when it fired
    Column("payload", Text, nullable=False),  # a PageView, as JSON
    Column("created_at", Instant, nullable=False),
)
Index("ix_pixel_events_pixel", pixel_events.c.pixel_id, pixel_events.c.id)

# The oldest events of a pixel, while one request of them is under way or waits to be made again. Others have no row.
pixel_lots = Table(
    "pixel_lots",
    metadata,
    Column("pixel_id", Id, primary_key=True),
    Column("last_event", Id, nullable=False),
    Column("attempts", SmallInteger, nullable=False),  # begun
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
    Column("dropped", BigInteger, nullable=False),  # by us: see `results`
    Column("sent_at", Instant),
    Column("reason", Text),  # of the last events that were not taken
    Column("reason_at", Instant),
)


class PageView(NamedTuple):
    """As JSON it is a list of these."""

    id: str
    """The click's, with hyphens: the same that the page's tag names, so that a platform counts one."""
    at: int
    """Seconds since 1970."""
    url: str
    ip: str
    """As much of it as is kept; "" for none."""
    user_agent: str
    referrer: str
