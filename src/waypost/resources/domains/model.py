"""Tables of custom domains, their certificates, ACME accounts, orders and HTTP-01 challenges."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Column, Index, SmallInteger, Table, Text, false

from waypost.database import Id, Instant, metadata
from waypost.database.secrets import Encrypted
from waypost.kit.ids import new_id
from waypost.worker.jobs import JobKind, JobQueue

DomainStatus = Literal["pending", "verifying", "verified", "failed"]
TlsStatus = Literal["none", "pending", "active", "failed"]

# PostgreSQL's default collation depends on the server's language; hostnames compare byte by byte everywhere
NAME = Text().with_variant(Text(collation="C"), "postgresql")

domains = Table(
    "domains",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("hostname", NAME, nullable=False, unique=True),  # A-labels in lower case, without a trailing dot
    Column("token", Text, nullable=False),
    Column("needs_txt", Boolean, nullable=False, server_default=false()),  # another account has verified it before
    Column("status", Text, nullable=False),
    Column("is_served", Boolean, nullable=False),  # its links work, also while a check is in flight
    Column("verified_at", Instant),  # when a check last verified it
    Column("last_checked_at", Instant),
    Column("error", Text),  # for the owner, from the last check
    Column("failures", SmallInteger, nullable=False),  # in a row
    Column("unverified_since", Instant),  # null while it is served; the registration expires some days later
    Column("notified_at", Instant),  # when its owner last got an email about a failure
    Column("root_url", Text),
    Column("not_found_url", Text),
    Column("links_count", BigInteger, nullable=False),
    Column("tls_status", Text, nullable=False),
    Column("tls_expires_at", Instant),
    Column("tls_error", Text),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("is_default", Boolean, nullable=False, server_default=false()),  # of new links in the dashboard
)
Index("ix_domains_account", domains.c.account_id, domains.c.created_at, domains.c.id)
Index("ix_domains_unverified", domains.c.unverified_since)

CHECK_JOB = JobKind("domains.check", JobQueue("domain_checks", slots=16, per_account=2, ranks=2), max_attempts=None)
"""A domain that is checked has a job with its id. Requested checks have rank 0, those that are due daily rank 1."""

certificates = Table(
    "certificates",
    metadata,
    Column("id", Id, primary_key=True),
    Column("hostname", NAME, nullable=False, unique=True),
    Column("chain", Text),  # PEM, the leaf first; null until there is one
    Column("key", Encrypted),  # PEM
    Column("expires_at", Instant),
    Column("error", Text),  # why the last attempt failed
    Column("failures", SmallInteger, nullable=False),  # in a row
    Column("due_at", Instant),  # of the next attempt; null if the hostname is no longer served
    Column("try_at", Instant),  # no attempt before this, whichever account has the hostname
    Column("leased_until", Instant),  # an attempt is in flight
    Column("is_own", Boolean, nullable=False),  # the service's own host, independent of any domain
    Column("updated_at", Instant, nullable=False),  # when the served certificate last changed
)
Index("ix_certificates_due", certificates.c.due_at, certificates.c.id)
Index("ix_certificates_leased", certificates.c.leased_until)
Index("ix_certificates_updated", certificates.c.updated_at)

acme_accounts = Table(
    "acme_accounts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("directory", Text, nullable=False, unique=True),  # the authority's URL
    Column("url", Text, nullable=False),
    Column("key", Encrypted, nullable=False),  # PEM
)

acme_orders = Table(
    "acme_orders",  # orders of the last day that count for an account
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("ordered_at", Instant, nullable=False, index=True),
)

acme_challenges = Table(
    "acme_challenges",
    metadata,
    Column("token", Text, primary_key=True),
    Column("key_authorization", Text, nullable=False),
    Column("created_at", Instant, nullable=False, index=True),
)


@dataclass(frozen=True, slots=True)
class Domain:
    id: UUID
    account_id: UUID
    hostname: str
    token: str
    """Value of the TXT record, which is public."""
    created_at: datetime
    updated_at: datetime
    unverified_since: datetime | None
    needs_txt: bool = False
    """A CNAME record does not verify it: another account has verified the hostname before."""
    status: DomainStatus = "pending"
    is_served: bool = False
    verified_at: datetime | None = None
    last_checked_at: datetime | None = None
    error: str | None = None
    failures: int = 0
    root_url: str | None = None
    not_found_url: str | None = None
    links_count: int = 0
    tls_status: TlsStatus = "none"
    tls_expires_at: datetime | None = None
    tls_error: str | None = None
    is_default: bool = False
    """New links start on it in the dashboard. At most one domain of an account."""

    @staticmethod
    def new(account_id: UUID, hostname: str, now: datetime) -> "Domain":
        token = f"waypost-{secrets.token_hex(16)}"  # so a record of an earlier registration does not verify this one
        return Domain(new_id(), account_id, hostname, token, created_at=now, updated_at=now, unverified_since=now)
