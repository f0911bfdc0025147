"""Custom domains of accounts: who claims a host name, whether it is proven theirs, and where its visitors go."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Column, Index, SmallInteger, Table, Text, false

from waypost.database import Id, Instant, metadata

Status = Literal["pending", "verifying", "verified", "failed"]
TlsStatus = Literal["none", "pending", "active", "failed"]

# PostgreSQL's default collation follows the server's language; names are compared byte by byte everywhere
NAME = Text().with_variant(Text(collation="C"), "postgresql")

domains = Table(
    "domains",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("hostname", NAME, nullable=False, unique=True),  # A-labels in lower case, without a trailing dot
    Column("token", Text, nullable=False),
    Column("needs_txt", Boolean, nullable=False, server_default=false()),  # another account verified the name before
    Column("status", Text, nullable=False),
    Column("is_live", Boolean, nullable=False),  # its links resolve; stays so while a check is under way
    Column("verified_at", Instant),  # when a check last found it proven
    Column("last_checked_at", Instant),
    Column("error", Text),  # what the last check found wrong
    Column("failures", SmallInteger, nullable=False),  # in a row
    Column("unverified_since", Instant),  # null while it is live; the claim ends some days later
    Column("check_at", Instant),  # when the next check is due; null until one is asked for
    Column("leased_until", Instant),  # a check, and the look at its certificate behind it, is under way
    Column("told_at", Instant),  # when its owner last got mail that it had failed
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
    """What its owner writes into the name's TXT record. No secret: anybody may read it there."""
    needs_txt: bool
    """A CNAME record does not prove it: another account has verified the name before."""
    status: Status
    is_live: bool
    verified_at: datetime | None
    last_checked_at: datetime | None
    error: str | None
    failures: int
    unverified_since: datetime | None
    root_url: str | None
    not_found_url: str | None
    links_count: int
    tls_status: TlsStatus
    tls_expires_at: datetime | None
    tls_error: str | None
    created_at: datetime
    updated_at: datetime
