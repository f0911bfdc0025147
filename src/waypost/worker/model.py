"""The table of jobs, and a claimed job."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Column, Index, Integer, Table, Text

from waypost.database import Id, Instant, Json, metadata

jobs = Table(
    "jobs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("payload", Json, nullable=False),
    Column("account_id", Id),
    Column("run_at", Instant, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("lease_until", Instant),
    Column("leased_by", Text),
    Column("error", Text),
    Column("failed_at", Instant),
    Column("created_at", Instant, nullable=False),
)
Index(
    "ix_jobs_waiting",
    jobs.c.run_at,
    sqlite_where=jobs.c.failed_at.is_(None),
    postgresql_where=jobs.c.failed_at.is_(None),
)


@dataclass(frozen=True, slots=True)
class Job:
    id: UUID
    name: str
    """`package.verb`"""
    payload: Any
    account_id: UUID | None
    attempt: int
    """Starts at 1."""
    max_attempts: int
    leased_by: str
