"""Subscriptions to reports by email, and addresses that unsubscribed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from sqlalchemy import Boolean, Column, ForeignKeyConstraint, Index, String, Table, Text, false

from waypost.accounts import Person
from waypost.database import Id, Instant, metadata
from waypost.kit.preferences import Preferences
from waypost.resources.statistics_reports.periods import ReportPeriod
from waypost.worker.jobs import JobKind, JobQueue

QUEUE = JobQueue("report_emails", slots=2, per_account=1, poll_interval=5.0, timeout=timedelta(seconds=100))
"""Reports are due at the same minute for many people. Other emails do not wait for them."""
SEND_JOB = JobKind("statistics_reports.send", QUEUE, max_attempts=None)
"""Each subscription has one, with its id, which runs again for the next report."""

report_subscriptions = Table(
    "report_subscriptions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("person_id", Id, nullable=False, index=True),
    Column("recipient", String(64), nullable=False, index=True),  # digest of the address of the latest report
    Column("period", Text, nullable=False),
    Column("tag", Text),  # the links with this tag, or one link; neither: the account
    Column("tag_id", Id),  # of the tag, which may get another name
    Column("link_id", Id),
    Column("attaches_links", Boolean, nullable=False, server_default=false()),
    Column("timezone", Text, nullable=False),  # only read by versions in which people have none
    Column("sent_until", Instant),  # the end of the latest reported period
    Column("sent_at", Instant),
    Column("problem", Text),  # why the latest report was not sent
    Column("created_at", Instant, nullable=False),
    # who leaves the account gets no reports of it
    ForeignKeyConstraint(
        ["account_id", "person_id"], ["memberships.account_id", "memberships.person_id"], ondelete="CASCADE"
    ),
)
Index("ix_report_subscriptions_account", report_subscriptions.c.account_id, report_subscriptions.c.person_id)

unsubscribed_addresses = Table(
    "unsubscribed_addresses",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("unsubscribed_at", Instant, nullable=False),
    sqlite_with_rowid=False,
)


@dataclass(frozen=True, slots=True)
class ReportSubject:
    """What a report is about: the account, unless there is a tag or a link."""

    tag: str | None = None
    link_id: UUID | None = None
    tag_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ReportSubscription:
    id: UUID
    account_id: UUID
    person_id: UUID
    period: ReportPeriod
    subject: ReportSubject
    attaches_links: bool
    """Whether a CSV file of the links comes with it. Never with a report about one link."""
    sent_until: datetime | None
    sent_at: datetime | None
    problem: str | None
    created_at: datetime
    preferences: Preferences
    """Of the person."""


@dataclass(frozen=True, slots=True)
class ListedSubscription:
    subscription: ReportSubscription
    account: str
    """Name."""
    subject: str
    """Tag, or short URL of the link, which is empty if it was deleted. The account's name otherwise."""
    next_at: datetime


def address_digest(email: str) -> str:
    return sha256(email.strip().casefold().encode()).hexdigest()


def digest_of(person: Person) -> str:
    return address_digest(person.email)
