"""Table of the health of links, and what is stored of one."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Column, Index, Integer, Table, Text

from waypost.database import Id, Instant, Json, metadata, only_where

HealthStatus = Literal["ok", "broken", "uncertain", "unchecked"]

link_health = Table(  # no row: the worker has not seen the link yet, which is unchecked then
    "link_health",
    metadata,
    Column("link_id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("status", Text, nullable=False),
    Column("due_at", Instant, nullable=False),  # of the next visit
    Column("checked_at", Instant),
    Column("http_status", Integer),
    Column("reason", Text),
    Column("since", Instant),
    Column("failures", Integer, nullable=False),
    Column("gone_days", Integer, nullable=False),
    Column("held", Json),  # null unless a visit failed at the network in the current hour
    sqlite_with_rowid=False,
)
Index("ix_link_health_due", *link_health.c["due_at", "account_id", "link_id"])
Index("ix_link_health_status", *link_health.c["account_id", "status", "link_id"])
Index("ix_link_health_held", link_health.c.link_id, **only_where(link_health.c.held.is_not(None)))


@dataclass(frozen=True, slots=True)
class LinkHealth:
    link_id: UUID
    account_id: UUID
    due_at: datetime
    status: HealthStatus = "unchecked"
    checked_at: datetime | None = None
    http_status: int | None = None
    reason: str | None = None
    since: datetime | None = None
    """The first visit in a row that succeeded, or that failed."""
    failures: int = 0
    """Visits in a row that failed."""
    gone_days: int = 0
    """Days on which the destination was gone, since it last was there."""
    held: dict[str, Any] | None = None
    """A visit that failed at the network. It counts after its hour, unless most of the hour's visits failed there."""
