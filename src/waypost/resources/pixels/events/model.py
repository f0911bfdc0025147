"""A page view as platforms are told of it, and the table of what they said."""

from typing import NamedTuple

from sqlalchemy import BigInteger, Column, ForeignKey, Table, Text

from waypost.database import Id, Instant, metadata

pixel_results = Table(
    "pixel_results",
    metadata,
    Column("pixel_id", Id, ForeignKey("pixels.id", ondelete="CASCADE"), primary_key=True),
    Column("sent", BigInteger, nullable=False),
    Column("rejected", BigInteger, nullable=False),  # by the platform
    Column("dropped", BigInteger, nullable=False),  # by us: too old, of no use to the platform, or tried too often
    Column("sent_at", Instant),
    Column("reason", Text),  # of the last events that were not taken
    Column("reason_at", Instant),
)


class Event(NamedTuple):
    """In a job's payload it is a list of these."""

    id: str
    """The click's, with hyphens: the same that the page's tag names, so that a platform counts one."""
    at: int
    """Seconds since 1970."""
    url: str
    ip: str
    """As much of it as is kept; "" for none."""
    user_agent: str
    referrer: str
