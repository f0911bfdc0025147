"""Accounts, plans and API keys: tables and types. A key's text is stored as a digest and a prefix for display."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, String, Table, Text

from waypost.database import Id, Instant, Json, metadata

PlanType = Literal["trial", "subscription", "lifetime", "none"]
PlanChoice = Literal["trial", "subscription", "past_due", "lifetime", "none"]
"""What an operator can choose: `past_due` is a subscription whose payment failed."""

Scope = Literal[
    "links:read",
    "links:write",
    "domains:read",
    "domains:write",
    "pixels:read",
    "pixels:write",
    "webhooks:manage",
]
SCOPES: tuple[Scope, ...] = get_args(Scope)

accounts = Table(
    "accounts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("email", String(254), nullable=False, unique=True),  # lower case
    Column("name", Text, nullable=False),
    Column("password_hash", Text),
    Column("confirmed_at", Instant),  # null while the email may belong to a third party
    Column("deleted_at", Instant),  # the row stays, anonymous, while a job deletes the account's data
    Column("plan_type", Text, nullable=False),
    Column("plan_status", Text),  # as Stripe names it; null without a subscription
    Column("trial_ends_at", Instant),
    Column("renews_at", Instant),
    # updated by links in their own transactions: counting a million rows for the total of a page would take 50 ms
    Column("links_count", Integer, nullable=False, server_default="0"),
    Column("image_bytes", BigInteger, nullable=False, server_default="0"),  # of hosted images; updated by links, too
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("prefix", Text, nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scopes", Json, nullable=False),
    Column("last_used_at", Instant),
    Column("expires_at", Instant),
    Column("revoked_at", Instant),
    Column("created_at", Instant, nullable=False),
)

past_emails = Table(
    "past_emails",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("trial_ends_at", Instant, nullable=False),  # when the account has no trial: the time of the record
    Column("recorded_at", Instant, nullable=False, index=True),
)


@dataclass(frozen=True, slots=True)
class Plan:
    type: PlanType
    status: str | None
    trial_ends_at: datetime | None
    renews_at: datetime | None


@dataclass(frozen=True, slots=True)
class Account:
    id: UUID
    email: str
    name: str
    plan: Plan
    created_at: datetime
    updated_at: datetime
    confirmed_at: datetime | None


AccountWithHash = tuple[Account | None, str | None]
"""The account with an email, and its password hash."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    id: UUID
    account_id: UUID
    name: str
    prefix: str
    scopes: tuple[str, ...]
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Caller:
    """The account that makes a request. Subclasses: `ApiCaller` (API key) and `Session` (dashboard)."""

    account: Account


@dataclass(frozen=True, slots=True)
class SignInClient:
    """The browser or IP address that sends a password."""

    id: bytes = b""
    """Attempts with the same id share a queue: an IP address, or the session of a signed-in user."""
    is_known: bool = False
    """Whether the account's owner has signed in with this browser before."""


@dataclass(frozen=True, slots=True)
class AuthenticationResult:
    """What a session needs to start. It starts only while the password or passkey is unchanged."""

    account: Account
    password: str | None = None
    """Password hash."""
    passkey: UUID | None = None


@dataclass(frozen=True, slots=True)
class ApiCaller(Caller):
    key: ApiKey
    request_id: UUID | None = None
    """Of a request with an idempotency key: another attempt after a killed process has the same."""
