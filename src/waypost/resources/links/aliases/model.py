"""Table of aliases, and an alias."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Column, Index, Table, Text

from waypost.database import Id, Instant, metadata

link_aliases = Table(
    "link_aliases",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("link_id", Id, nullable=False),
    Column("domain_id", Id, nullable=False),  # rows of a deleted domain are ignored until a job deletes them
    Column("path", Text, nullable=False),
    Column("digest", Id, nullable=False),  # of the path, which is too long for an index of PostgreSQL
    Column("created_at", Instant, nullable=False),
    Column("folded", Id),  # digest of the case-folded path; null if an older version added the alias
)
Index("uq_link_aliases_address", link_aliases.c.domain_id, link_aliases.c.digest, unique=True)
Index("ix_link_aliases_folded", link_aliases.c.domain_id, link_aliases.c.folded)
Index("ix_link_aliases_link", *link_aliases.c["link_id", "created_at", "id"])


@dataclass(frozen=True, slots=True)
class Alias:
    id: UUID
    account_id: UUID
    link_id: UUID
    domain_id: UUID
    hostname: str
    path: str
    """Percent-decoded, without the leading slash."""
    created_at: datetime
