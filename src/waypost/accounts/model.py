"""People, accounts and API keys: tables and types. A key's text is stored as a digest and a prefix for display.

A person signs in, and is a member of accounts with a role in each. An account has links, a plan and keys.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, String, Table, Text, false

from waypost.audit import Actor
from waypost.database import Database, Id, Instant, Json, Tx, metadata
from waypost.kit.preferences import Preferences, stored_preferences
from waypost.kit.versions import Expected

if TYPE_CHECKING:
    from waypost.idempotency import Claim

PlanType = Literal["trial", "subscription", "lifetime", "none"]
PlanChoice = Literal["trial", "subscription", "past_due", "lifetime", "none"]
"""What an operator can choose: `past_due` is a subscription whose payment failed."""

Role = Literal["viewer", "editor", "admin", "owner"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From the one that may do least to the one that may do everything: docs/guides/team.md."""

RequiredFactor = Literal["none", "second_factor", "passkey"]
REQUIRED_FACTORS: tuple[RequiredFactor, ...] = get_args(RequiredFactor)
"""What an account requires of its members' sign-ins besides a password."""

people = Table(
    "people",
    metadata,
    Column("id", Id, primary_key=True),
    Column("email", String(254), nullable=False, unique=True),  # lower case
    Column("name", Text, nullable=False),
    Column("password_hash", Text),
    Column("confirmed_at", Instant),  # null while the email may belong to a third party
    Column("is_operator", Boolean, nullable=False, server_default=false()),  # of this installation
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("timezone", Text),  # null until a browser reports it
    Column("date_format", Text),
    Column("number_format", Text),
)

accounts = Table(
    "accounts",
    metadata,
    Column("id", Id, primary_key=True),
    # lower case; where notices go, and what commands take: the email of an owner, until the account gets its own
    Column("email", String(254), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("deleted_at", Instant),  # the row stays, anonymous, while a job deletes the account's data
    Column("plan_type", Text, nullable=False),
    Column("plan_status", Text),  # as Stripe names it; null without a subscription
    Column("trial_ends_at", Instant),
    Column("renews_at", Instant),
    Column("required_factor", Text, nullable=False, server_default="none"),  # of the sign-ins of all members
    # updated by links in their own transactions: counting a million rows for the total of a page would take 50 ms
    Column("links_count", Integer, nullable=False, server_default="0"),
    Column("image_bytes", BigInteger, nullable=False, server_default="0"),  # of hosted images; updated by links, too
    # how often links got other tags, hostnames or UTM parameters: what was added up by these before is outdated
    Column("label_changes", Integer, nullable=False, server_default="0"),
    Column("suspended_at", Instant),  # links and keys of a suspended account do not work; nothing is deleted
    Column("suspended_reason", Text),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
)

memberships = Table(
    "memberships",
    metadata,
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("person_id", Id, ForeignKey("people.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("role", Text, nullable=False),
    Column("by_groups", Boolean, nullable=False, server_default=false()),  # the role comes from an identity provider
    Column("created_at", Instant, nullable=False),
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
    # a key can do what its maker's role allows; null: made by a command, and only limited by its scopes
    Column("created_by", Id, ForeignKey("people.id", ondelete="CASCADE"), index=True),
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

    def is_active(self, now: datetime) -> bool:
        if self.type == "trial":
            return self.trial_ends_at is not None and now < self.trial_ends_at
        if self.type == "subscription":
            return self.status in {"active", "trialing"}
        return self.type == "lifetime"


@dataclass(frozen=True, slots=True)
class Account:
    id: UUID
    email: str
    name: str
    plan: Plan
    created_at: datetime
    updated_at: datetime
    suspended_at: datetime | None = None
    suspended_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """Who signs in."""

    id: UUID
    email: str
    name: str
    confirmed_at: datetime | None
    is_operator: bool
    created_at: datetime
    updated_at: datetime
    timezone: str | None = None
    date_format: str | None = None
    number_format: str | None = None

    @property
    def preferences(self) -> Preferences:
        return stored_preferences(self.timezone, self.date_format, self.number_format)


PersonWithHash = tuple[Person | None, str | None]
"""The person with an email, and their password hash."""


@dataclass(frozen=True, slots=True)
class Membership:
    """A person's place in an account."""

    account: Account
    role: Role


@dataclass(frozen=True, slots=True)
class MissingFactor:
    """What a sign-in lacks for the account that the session would show."""

    account: Account
    factor: RequiredFactor


@dataclass(frozen=True, slots=True)
class Member:
    """A person in an account."""

    person: Person
    role: Role
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    id: UUID
    account_id: UUID
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created_by: UUID | None
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    created_at: datetime

    def is_usable(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class KeyMaker:
    """The person who made an API key."""

    name: str
    role: Role | None
    """In the key's account. None: no longer a member, so the key is refused."""


@dataclass(frozen=True, slots=True)
class Caller(ABC):
    """The account that makes a request: by API key (`ApiCaller`), in the dashboard (`Session`), or in a process."""

    account: Account
    request_ip: str = field(default="", kw_only=True)
    """Where the request came from, as the privacy setting allows to store it. Empty for reads with an API key."""
    expected: Expected | None = field(default=None, kw_only=True)
    """Of a request that is for one version of an object only."""

    @property
    @abstractmethod
    def actor(self) -> Actor:
        """For the audit log."""

    def require_current(self, stored: Any) -> None:
        """Raise PreconditionFailed if the request is for another version of the object, which is locked."""
        if self.expected:
            self.expected.check(stored)

    def commit(self, db: Database, *around: AbstractAsyncContextManager[None]) -> AbstractAsyncContextManager[Tx]:
        """Open the last transaction of a `POST`, with the change that must not happen twice.

        The answer to a request with an idempotency key is stored in it, so nothing may be read or written after it.
        Contexts in `around` end when it is committed or rolled back, which may be after the block.
        """
        return _within(around, db.write())


@dataclass(frozen=True, slots=True)
class ProcessCaller(Caller):
    """A command or a job that calls services of an account."""

    name: str
    """Of the command, or the label of the person for whom a job works."""

    @property
    def actor(self) -> Actor:
        return Actor.command(self.account.id, self.name)


@dataclass(frozen=True, slots=True)
class SignInClient:
    """The browser or IP address that sends a password."""

    id: bytes = b""
    """Attempts with the same id share a queue: an IP address, or the session of a signed-in user."""
    is_known: bool = False
    """Whether the person has signed in with this browser before."""


@dataclass(frozen=True, slots=True)
class ProviderSession:
    """The session at an identity provider that a sign-in came from."""

    issuer: str
    subject: str
    id: str | None
    id_token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AuthenticationResult:
    """What a session needs to start. It starts only while the password, passkey or identity is unchanged."""

    person: Person
    password: str | None = None
    """Password hash."""
    passkey: UUID | None = None
    provider: ProviderSession | None = None
    has_second_factor: bool = False
    """Whether a code was accepted, or none is required. Passkeys and providers never require one."""


@dataclass(frozen=True, slots=True)
class ApiCaller(Caller):
    key: ApiKey
    role: Role | None = None
    """Of the person who made the key; None if a command made it."""
    claim: "Claim | None" = None
    """Of a request with an idempotency key."""

    def commit(self, db: Database, *around: AbstractAsyncContextManager[None]) -> AbstractAsyncContextManager[Tx]:
        return self.claim.commit(*around) if self.claim else _within(around, db.write())

    @property
    def actor(self) -> Actor:
        return Actor(self.account.id, "key", self.key.id, self.key.name, self.request_ip)


@asynccontextmanager
async def _within(
    around: Iterable[AbstractAsyncContextManager[None]], transaction: AbstractAsyncContextManager[Tx]
) -> AsyncIterator[Tx]:
    async with AsyncExitStack() as stack:
        for context in around:
            await stack.enter_async_context(context)
        yield await stack.enter_async_context(transaction)
