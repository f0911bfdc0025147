"""The table of custom domains, and its row."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Column, Index, SmallInteger, Table, Text, false

from waypost.database import Id, Instant, metadata

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
    Column("is_live", Boolean, nullable=False),  # its links work; also while a check is in flight
    Column("verified_at", Instant),  # when a check last verified it
    Column("last_checked_at", Instant),
    Column("error", Text),  # for the owner, from the last check
    Column("failures", SmallInteger, nullable=False),  # in a row
    Column("unverified_since", Instant),  # null while it is live; the claim expires some days later
    Column("check_at", Instant),  # when the next check is due; null until one is requested
    Column("leased_until", Instant),  # a check, including its TLS probe, is in flight
    Column("told_at", Instant),  # when its owner last got mail about a failure
    Column("root_url", Text),
    Column("not_found_url", Text),
    Column("links_count", BigInteger, nullable=False),
    Column("tls_status", Text, nullable=False),
    Column("tls_expires_at", Instant),
    Column("tls_error", Text),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
)
Index("ix_domains_account", domains.c.account_id, domains.c.created_at, domains.c.id)
Index("ix_domains_due", domains.c.check_at)
Index("ix_domains_leased", domains.c.leased_until)
Index("ix_domains_unverified", domains.c.unverified_since)


@dataclass(frozen=True, slots=True)
class Domain:
    id: UUID
    account_id: UUID
    hostname: str
    token: str
    """The value of the TXT record. No secret: anybody can read it there."""
    created_at: datetime
    updated_at: datetime
    unverified_since: datetime | None
    needs_txt: bool = False
    """A CNAME record does not verify it: another account has verified the hostname before."""
    status: DomainStatus = "pending"
    is_live: bool = False
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
