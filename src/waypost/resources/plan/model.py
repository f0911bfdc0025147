"""Stripe customers of accounts, received events, and one-time payments that were counted."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Column, ForeignKey, Integer, Table, Text

from waypost.database import Id, Instant, metadata

stripe_customers = Table(
    "stripe_customers",
    metadata,
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("customer_id", Text, nullable=False, unique=True),
    Column("ends_at", Instant),  # of a canceled subscription
    Column("version", Integer, nullable=False),  # counts writes: detects concurrent ones
    Column("created_at", Instant, nullable=False),
)

stripe_events = Table(
    "stripe_events",
    metadata,
    Column("id", Text, primary_key=True),
    Column("received_at", Instant, nullable=False, index=True),
)

stripe_checkouts = Table(
    "stripe_checkouts",
    metadata,
    Column("id", Text, primary_key=True),  # of a paid checkout
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("counted_at", Instant, nullable=False),
)


@dataclass(frozen=True, slots=True)
class StripeCustomer:
    account_id: UUID
    customer_id: str
    ends_at: datetime | None
    version: int
