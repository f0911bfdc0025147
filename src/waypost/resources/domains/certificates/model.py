"""Certificates by host name, the accounts they were obtained with, and the proofs that an authority comes to read."""

from sqlalchemy import Boolean, Column, Index, SmallInteger, Table, Text

from waypost.database import Id, Instant, metadata
from waypost.database.secrets import Encrypted
from waypost.resources.domains.model import NAME

certificates = Table(
    "certificates",
    metadata,
    Column("id", Id, primary_key=True),
    Column("hostname", NAME, nullable=False, unique=True),
    Column("chain", Text),  # PEM, the name's own first; null until there is one
    Column("key", Encrypted),  # PEM
    Column("expires_at", Instant),
    Column("error", Text),  # why the last attempt came to nothing
    Column("failures", SmallInteger, nullable=False),  # in a row
    Column("due_at", Instant),  # of the next attempt; null: the name is not served any more
    Column("try_at", Instant),  # no attempt before this, whoever has the name then
    Column("leased_until", Instant),  # an attempt is under way
    Column("is_own", Boolean, nullable=False),  # the service's, whatever becomes of a domain of that name
    Column("updated_at", Instant, nullable=False),  # when what is served with it last changed
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
    "acme_orders",  # those of the last day that count for an account of ours
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
