"""Sessions of the dashboard. A session's token is in its cookie alone; only the digest is stored.

A session ends 30 days after its last use, 90 days after its start, when the password is changed, and when the passkey
that authenticated it is removed. One that began at an identity provider also ends with the session there, and when its
person disconnects the provider.
"""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    String,
    Table,
    Text,
    and_,
    bindparam,
    case,
    delete,
    exists,
    false,
    insert,
    null,
    select,
    update,
)

from waypost.accounts import model as tables
from waypost.accounts.keys import format as key_format
from waypost.accounts.members import store as memberships
from waypost.accounts.model import Caller, MissingFactor, Person, ProviderSession, RequiredFactor, Role, accounts
from waypost.accounts.oidc import identities
from waypost.accounts.people import store as people
from waypost.accounts.people.store import PERSON
from waypost.accounts.second_factor import store as second_factors
from waypost.accounts.sessions import provider_sessions
from waypost.accounts.sign_in import passkeys
from waypost.accounts.store import ACCOUNT, account_from
from waypost.audit import Actor
from waypost.database import Database, Id, Instant, Tx, metadata
from waypost.kit.clock import EPOCH
from waypost.kit.errors import NotFound
from waypost.kit.ids import new_id

MAX_IDLE = timedelta(days=30)
MAX_AGE = timedelta(days=90)
_LAST_USE_INTERVAL = timedelta(minutes=5)
_MAX_USER_AGENT_LENGTH = 256

sessions = Table(
    "sessions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("person_id", Id, ForeignKey("people.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="SET NULL"), index=True),  # the one it shows
    Column("user_agent", Text, nullable=False),
    Column("ip", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("seen_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False, index=True),
    Column("authenticated_at", Instant, nullable=False),  # the last (re)authentication
    Column("passkey_id", Id, ForeignKey("passkeys.id", ondelete="CASCADE"), index=True),  # if it was by a passkey
    Column("by_provider", Boolean, nullable=False, server_default=false()),  # whether it was at an identity provider
)
_sessions, _members = sessions.c, tables.memberships.c


@dataclass(frozen=True)
class PersonSession:
    """The session of a person, who may not be a member of any account, or not meet what the account requires."""

    person: Person
    id: UUID
    user_agent: str
    ip: str
    created_at: datetime
    seen_at: datetime
    authenticated_at: datetime
    request_ip: str = field(default="", kw_only=True)
    """Where the request came from, see `Caller`."""
    missing: MissingFactor | None = field(default=None, kw_only=True)
    has_others: bool = field(default=False, kw_only=True)
    """Whether the person is a member of other accounts than the one that the session shows."""


@dataclass(frozen=True)
class Session(PersonSession, Caller):
    """A session that shows an account."""

    role: Role
    """Of the person in the account."""

    @property
    def actor(self) -> Actor:
        return Actor(self.account.id, "person", self.person.id, self.person.email, self.request_ip)


S = TypeVar("S", bound=PersonSession)

_FIELDS = tuple(_sessions[name] for name in PersonSession.__dataclass_fields__ if name in _sessions)
_OTHER = tables.memberships.alias()
_HAS_OTHERS = exists().where(
    _OTHER.c.person_id == _sessions.person_id, _OTHER.c.account_id.is_distinct_from(_sessions.account_id)
)
_PERSON_END, _FIELDS_END = len(PERSON), len(PERSON) + len(_FIELDS)
_MEMBERSHIP = and_(_members.person_id == _sessions.person_id, _members.account_id == _sessions.account_id)
_IS_OF_PROVIDER = provider_sessions.exists_for(_sessions.id)
_HAS_SECOND_FACTOR = second_factors.is_on_for(_sessions.person_id)
# Who has a second factor gave a code, or used a link of the operator. A provider is responsible for its sign-ins. Each
# line is only evaluated if the ones before do not apply.
_MISSING_FACTOR = case(
    (accounts.c.required_factor == "none", null()),
    (_sessions.passkey_id.is_not(None), null()),
    (_IS_OF_PROVIDER, null()),
    (and_(accounts.c.required_factor == "second_factor", _HAS_SECOND_FACTOR), null()),
    else_=accounts.c.required_factor,
)
_ACTIVE = and_(accounts.c.id == _members.account_id, accounts.c.deleted_at.is_(None))
_FIND = (
    select(*PERSON, *_FIELDS, _HAS_OTHERS, *ACCOUNT, _members.role, _MISSING_FACTOR)
    .join_from(sessions, tables.people, _sessions.person_id == tables.people.c.id)
    .outerjoin(tables.memberships, _MEMBERSHIP)
    .outerjoin(accounts, _ACTIVE)
    .where(_sessions.digest == bindparam("digest"), _sessions.expires_at > bindparam("now"))
    .where(_sessions.created_at > bindparam("oldest"))
)


async def create(
    tx: Tx,
    person_id: UUID,
    *,
    user_agent: str,
    ip: str,
    now: datetime,
    account_id: UUID | None = None,
    password: str | None = None,
    passkey: UUID | None = None,
    provider: ProviderSession | None = None,
    has_second_factor: bool = False,
    replaced: PersonSession | None = None,
) -> str:
    """Return the token, which cannot be read again.

    `account_id`: the account to show, by default one that the person is a member of. `replaced`: the session of the
    same browser, which ends. If it is bound to one at a provider, so is the new one of its person, from the same start:
    no other sign-in than one at the provider prolongs what that proved.

    Raises NotFound if the person is deleted, or no longer has this `password` hash, `passkey` or identity: an
    authentication before a change that ended all sessions must not start a session after it. `has_second_factor`: see
    `AuthenticationResult`; NotFound without it if the person has a second factor.
    """
    await people.lock(tx, person_id)
    if password is not None and await people.find_password_hash(tx, person_id) != password:
        raise NotFound
    if passkey is not None and not await passkeys.exists(tx, person_id, passkey):
        raise NotFound
    if provider and not await identities.is_connected(tx, person_id, provider.issuer, provider.subject):
        raise NotFound
    if not (has_second_factor or passkey or provider) and await second_factors.is_on(tx, person_id):
        raise NotFound
    bound_to, created_at = provider, now
    if replaced:
        if provider is None and replaced.person.id == person_id:
            bound_to = await provider_sessions.find(tx, replaced.id)
            created_at = replaced.created_at if bound_to else now
        await end(tx, replaced.person.id, replaced.id)
    token, session_id = secrets.token_urlsafe(32), new_id()
    row = {
        "id": session_id,
        "digest": key_format.digest(token),
        "person_id": person_id,
        "account_id": account_id,
        "user_agent": user_agent[:_MAX_USER_AGENT_LENGTH],
        "ip": ip,
        "created_at": created_at,
        "seen_at": now,
        "expires_at": now + MAX_IDLE,
        "authenticated_at": now,
        "passkey_id": passkey,
        "by_provider": provider is not None,
    }
    await tx.execute(delete(sessions).where(_sessions.expires_at <= now))
    await tx.execute(insert(sessions), row)
    if bound_to:
        await provider_sessions.connect(tx, session_id, bound_to)
    return token


async def find(db: Database, token: str, *, now: datetime) -> PersonSession | None:
    """Return the active session: a `Session` if it may show an account that the person is a member of."""
    parameters = {"digest": key_format.digest(token), "now": now, "oldest": now - MAX_AGE}
    async with db.point_read() as point_read:
        session = await point_read.find(_session, _FIND, parameters)
    is_without_account = session is not None and not isinstance(session, Session) and session.missing is None
    if session and is_without_account and await _show_first_account(db, session):
        async with db.point_read() as point_read:
            session = await point_read.find(_session, _FIND, parameters)
    if session and now - session.seen_at >= _LAST_USE_INTERVAL:
        async with db.write() as tx:
            statement = update(sessions).where(_sessions.id == session.id)
            await tx.execute(statement.values(seen_at=now, expires_at=now + MAX_IDLE))
    return session


async def show_account(tx: Tx, session: PersonSession, account_id: UUID) -> None:
    """Let the session show another account of its person. Raises NotFound if the person is not a member of it."""
    if await memberships.find(tx, account_id, session.person.id) is None:
        raise NotFound
    await tx.execute(update(sessions).where(_sessions.id == session.id).values(account_id=account_id))


async def leave_account(tx: Tx, person_id: UUID, account_id: UUID) -> None:
    """Let no session of the person show the account any more."""
    statement = update(sessions).where(_sessions.person_id == person_id, _sessions.account_id == account_id)
    await tx.execute(statement.values(account_id=None))


async def reauthenticate(tx: Tx, session: S, *, now: datetime, passkey: UUID | None = None) -> S:
    """Record a reauthentication by `passkey`, or by the password if there is none.

    Raises NotFound if the session has ended, or if the person does not have this passkey.
    """
    await people.lock(tx, session.person.id)  # a removal of the passkey comes before or after
    if passkey is not None and not await passkeys.exists(tx, session.person.id, passkey):
        raise NotFound
    statement = update(sessions).where(_sessions.id == session.id)
    statement = statement.values(authenticated_at=now, passkey_id=passkey, by_provider=False)
    if (await tx.execute(statement)).rowcount == 0:
        raise NotFound
    return replace(session, authenticated_at=now)


async def connect(tx: Tx, session_id: UUID, provider: ProviderSession) -> None:
    """Let the session end with one at the provider, which has just authenticated the person."""
    await provider_sessions.connect(tx, session_id, provider)
    await tx.execute(update(sessions).where(_sessions.id == session_id).values(by_provider=True))


async def end_reauthentication(tx: Tx, person_id: UUID) -> None:
    """Let no session of the person count as recently authenticated."""
    await tx.execute(update(sessions).where(_sessions.person_id == person_id).values(authenticated_at=EPOCH))


async def meets(tx: Tx, session: PersonSession, factor: RequiredFactor) -> bool:
    """Return whether the session would have access to an account that requires this factor. False if it has ended."""
    query = select(_sessions.passkey_id, _IS_OF_PROVIDER, _HAS_SECOND_FACTOR).where(_sessions.id == session.id)
    row = (await tx.execute(query)).one_or_none()
    if row is None:
        return False
    passkey, is_of_provider, has_second_factor = row
    return bool(factor == "none" or passkey or is_of_provider or (factor == "second_factor" and has_second_factor))


async def end(tx: Tx, person_id: UUID, session_id: UUID) -> bool:
    """Return False if the person does not have the session."""
    statement = delete(sessions).where(_sessions.id == session_id, _sessions.person_id == person_id)
    return (await tx.execute(statement)).rowcount > 0


async def end_all(tx: Tx, person_id: UUID) -> None:
    await tx.execute(delete(sessions).where(_sessions.person_id == person_id))


async def end_others(tx: Tx, session: PersonSession) -> None:
    await tx.execute(delete(sessions).where(_sessions.person_id == session.person.id, _sessions.id != session.id))


async def end_of_provider(tx: Tx, issuer: str, *, subject: str | None, session_id: str | None) -> None:
    """End the sessions of one session at the provider; without `session_id`, all of the subject's."""
    ended = provider_sessions.select_session_ids(issuer, subject=subject, session_id=session_id)
    await tx.execute(delete(sessions).where(_sessions.id.in_(ended)))


async def is_active(tx: Tx, session: PersonSession) -> bool:
    return (await tx.execute(select(_sessions.id).where(_sessions.id == session.id))).first() is not None


async def find_showing(tx: Tx, session_ids: Collection[UUID], now: datetime) -> Sequence[tuple[UUID, UUID]]:
    """Return (session, account) of those sessions that may view the account that they show."""
    query = select(_sessions.id, _sessions.account_id).join(tables.memberships, _MEMBERSHIP).join(accounts, _ACTIVE)
    query = query.where(_sessions.id.in_(session_ids), _sessions.expires_at > now, _sessions.created_at > now - MAX_AGE)
    query = query.where(_MISSING_FACTOR.is_(None), accounts.c.suspended_at.is_(None))
    return [(row.id, row.account_id) for row in await tx.execute(query)]


async def list_active(tx: Tx, person: Person, *, now: datetime) -> list[PersonSession]:
    """List active sessions, last used first."""
    conditions = _sessions.person_id == person.id, _sessions.expires_at > now, _sessions.created_at > now - MAX_AGE
    rows = await tx.execute(select(*_FIELDS).where(*conditions).order_by(_sessions.seen_at.desc()))
    return [PersonSession(person, *row) for row in rows]


def _session(*row: Any) -> PersonSession:
    person, fields = Person(*row[:_PERSON_END]), row[_PERSON_END:_FIELDS_END]
    has_others, *account, role, missing = row[_FIELDS_END:]
    of_person = PersonSession(person, *fields, has_others=bool(has_others))
    if account[0] is None:  # none was chosen, or the person is no longer a member
        return of_person
    if missing is not None:
        return replace(of_person, missing=MissingFactor(account_from(*account), missing))
    return Session(account_from(*account), **vars(of_person), role=role)


async def _show_first_account(db: Database, session: PersonSession) -> bool:
    """Let the session show the first account of its person. Return False if there is none."""
    async with db.read() as tx:
        found = await memberships.list_of_person(tx, session.person.id)
    if not found:
        return False
    async with db.write() as tx:
        await show_account(tx, session, found[0].account.id)
    return True
