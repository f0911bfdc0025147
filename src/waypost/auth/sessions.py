"""Sessions of the dashboard. A session's token is in its cookie alone; only the digest is stored.

A session ends 30 days after its last use, 90 days after its start, when the password is changed, and when the passkey
that authenticated it is removed.
"""

import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Column, ForeignKey, String, Table, Text, bindparam, delete, insert, select, update

from waypost.auth import key_format, passkeys, store
from waypost.auth.model import Account, Caller, accounts
from waypost.auth.store import ACCOUNT, account_from
from waypost.database import Database, Id, Instant, Tx, metadata
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
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("user_agent", Text, nullable=False),
    Column("ip", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("seen_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False, index=True),
    Column("authenticated_at", Instant, nullable=False),  # the last (re)authentication
    Column("passkey_id", Id, ForeignKey("passkeys.id", ondelete="CASCADE"), index=True),  # if it was by a passkey
)


@dataclass(frozen=True, slots=True)
class Session(Caller):
    id: UUID
    user_agent: str
    ip: str
    created_at: datetime
    seen_at: datetime
    authenticated_at: datetime


_FIELDS = tuple(sessions.c[name] for name in Session.__dataclass_fields__ if name != "account")
_FIND = (
    select(*ACCOUNT, *_FIELDS)
    .join_from(sessions, accounts, sessions.c.account_id == accounts.c.id)
    .where(sessions.c.digest == bindparam("digest"), sessions.c.expires_at > bindparam("now"))
    .where(sessions.c.created_at > bindparam("oldest"))
    .where(accounts.c.deleted_at.is_(None))
)


async def create(
    tx: Tx,
    account_id: UUID,
    *,
    user_agent: str,
    ip: str,
    now: datetime,
    password: str | None = None,
    passkey: UUID | None = None,
) -> str:
    """Return the token, which cannot be read again.

    Raises NotFound if the account is deleted, or no longer has this `password` hash or `passkey`: an authentication
    before a change that ended all sessions must not start a session after it.
    """
    await store.lock_account(tx, account_id)
    if password is not None and await store.find_password_hash(tx, account_id) != password:
        raise NotFound
    if passkey is not None and not await passkeys.exists(tx, account_id, passkey):
        raise NotFound
    token = secrets.token_urlsafe(32)
    row = {
        "id": new_id(),
        "digest": key_format.digest(token),
        "account_id": account_id,
        "user_agent": user_agent[:_MAX_USER_AGENT_LENGTH],
        "ip": ip,
        "created_at": now,
        "seen_at": now,
        "expires_at": now + MAX_IDLE,
        "authenticated_at": now,
        "passkey_id": passkey,
    }
    await tx.execute(delete(sessions).where(sessions.c.expires_at <= now))
    await tx.execute(insert(sessions), row)
    return token


async def find(db: Database, token: str, *, now: datetime) -> Session | None:
    """Return the active session with its account."""
    async with db.point_read() as tx:
        parameters = {"digest": key_format.digest(token), "now": now, "oldest": now - MAX_AGE}
        row = (await tx.execute(_FIND, parameters)).one_or_none()
    if row is None:
        return None
    session = Session(account_from(row[: len(ACCOUNT)]), *row[len(ACCOUNT) :])
    if now - session.seen_at >= _LAST_USE_INTERVAL:
        async with db.write() as tx:
            statement = update(sessions).where(sessions.c.id == session.id)
            await tx.execute(statement.values(seen_at=now, expires_at=now + MAX_IDLE))
    return session


async def reauthenticate(tx: Tx, session: Session, *, now: datetime, passkey: UUID | None = None) -> Session:
    """Record a reauthentication by `passkey`, or by the password if there is none.

    Raises NotFound if the session has ended, or if the account does not have this passkey.
    """
    await store.lock_account(tx, session.account.id)  # a removal of the passkey comes before or after
    if passkey is not None and not await passkeys.exists(tx, session.account.id, passkey):
        raise NotFound
    statement = update(sessions).where(sessions.c.id == session.id)
    if (await tx.execute(statement.values(authenticated_at=now, passkey_id=passkey))).rowcount == 0:
        raise NotFound
    return replace(session, authenticated_at=now)


async def end(tx: Tx, account_id: UUID, session_id: UUID) -> bool:
    """Return False if the account does not have the session."""
    statement = delete(sessions).where(sessions.c.id == session_id, sessions.c.account_id == account_id)
    return (await tx.execute(statement)).rowcount > 0


async def end_all(tx: Tx, account_id: UUID) -> None:
    await tx.execute(delete(sessions).where(sessions.c.account_id == account_id))


async def end_others(tx: Tx, session: Session) -> None:
    statement = delete(sessions).where(sessions.c.account_id == session.account.id, sessions.c.id != session.id)
    await tx.execute(statement)


async def is_active(tx: Tx, session: Session) -> bool:
    return (await tx.execute(select(sessions.c.id).where(sessions.c.id == session.id))).first() is not None


async def list_active(tx: Tx, account: Account, *, now: datetime) -> list[Session]:
    """List active sessions, last used first."""
    conditions = sessions.c.account_id == account.id, sessions.c.expires_at > now, sessions.c.created_at > now - MAX_AGE
    rows = await tx.execute(select(*_FIELDS).where(*conditions).order_by(sessions.c.seen_at.desc()))
    return [Session(account, *row) for row in rows]
