"""Tables of certificates, ACME accounts, ACME orders and HTTP-01 challenges."""

from sqlalchemy import Boolean, Column, Index, SmallInteger, Table, Text

from waypost.database import Id, Instant, metadata
from waypost.database.secrets import Encrypted
from waypost.resources.domains.model import NAME

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
    Column("due_at", Instant),  # of the next attempt; null: the hostname is no longer served
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
    "acme_orders",  # those of the last day that count for an account
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, nullable=False),
    Column("ordered_at", Instant, nullable=False, index=True),
)

acme_challenges = Table(
    "acme_challenges",
    metadata,
    Column("token", Text, primary_key=True),
    Column("answer", Text, nullable=False),
    Column("created_at", Instant, nullable=False, index=True),
)
