"""Tables of reports, and a link with open reports."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import Column, Index, Integer, Table, Text

from waypost.database import Id, Instant, metadata, only_where

ReportOutcome = Literal["disabled", "dismissed"]

reported_links = Table(
    "reported_links",
    metadata,
    Column("link_id", Id, primary_key=True),
    Column("account_id", Id, nullable=False, index=True),
    Column("reports", Integer, nullable=False),  # since the last outcome; more than are stored
    Column("mailed", Integer, nullable=False),  # of them, those that operators got an email about
    Column("mailed_at", Instant),
    Column("first_at", Instant, nullable=False),
    Column("last_at", Instant, nullable=False),
    Column("closed_at", Instant),  # null: an operator has to decide
    Column("outcome", Text),
)
IS_OPEN = reported_links.c.closed_at.is_(None)
Index("ix_reported_links_open", *reported_links.c["last_at", "link_id"], **only_where(IS_OPEN))

link_reports = Table(  # of open links: what reporters wrote is deleted with the outcome
    "link_reports",
    metadata,
    Column("id", Id, primary_key=True),
    Column("link_id", Id, nullable=False, index=True),
    Column("reason", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("email", Text),  # of the reporter; nobody has confirmed it
    Column("created_at", Instant, nullable=False),
)


@dataclass(frozen=True, slots=True)
class ReportedLink:
    link_id: UUID
    account_id: UUID
    reports: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class StoredReport:
    reason: str
    text: str
    email: str | None
    created_at: datetime
