"""What a click is: the row of one visit. Only the kind `human` counts; the others are kept to be shown as such."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Column, Table, Text

from waypost.database import Id, Instant, metadata

HUMAN = "human"
PREFETCH = "prefetch"

clicks = Table(
    "clicks",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("link_id", Id, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("kind", Text, nullable=False),
    Column("is_scan", Boolean, nullable=False),
    Column("ip", Text, nullable=False),
    Column("user_agent", Text, nullable=False),
    Column("referrer", Text, nullable=False),
    Column("language", Text, nullable=False),
    sqlite_with_rowid=False,  # ids grow with time, so rows are appended to the one tree there is
)

spool_positions = Table(
    "spool_positions",
    metadata,
    Column("segment", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


@dataclass(slots=True)
class Click:
    """Filled in by one enrichment step after the other."""

    id: UUID
    link_id: UUID
    created_at: datetime
    kind: str = HUMAN
    is_scan: bool = False
    ip: str = ""
    user_agent: str = ""
    referrer: str = ""
    language: str = ""
