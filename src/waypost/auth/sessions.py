"""Sessions of the dashboard. A session's token is in its cookie alone; only the digest is stored.

A session ends 30 days after its last use, 90 days after its start (R35), with a change of the password (R14), and with
the removal of the passkey that authenticated it.
"""

import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Column, ForeignKey, String, Table, Text, bindparam, delete, insert, select, update

from waypost.auth import keys, passkeys, store
from waypost.auth.model import Account, Caller, accounts
from waypost.auth.store import ACCOUNT, account_from
from waypost.database import Database, Id, Instant, Tx, metadata
from waypost.kit.errors import NotFound
from waypost.kit.ids import new_id

IDLE_LIMIT = timedelta(days=30)
AGE_LIMIT = timedelta(days=90)
_LAST_USE_INTERVAL = timedelta(minutes=5)
_USER_AGENT_LIMIT = 256

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
    .where(accounts.c.closed_at.is_(None))
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
    """Returns the token, which cannot be read again.

    Raises NotFound when the account is closed, has another `password` hash or does not have this `passkey` any more: an
    authentication from before a change that ended all sessions must not begin a session after it.
    """
    await store.lock_account(tx, account_id)
    if password is not None and await store.find_password_hash(tx, account_id) != password:
        raise NotFound
    if passkey is not None and not await passkeys.exists(tx, account_id, passkey):
        raise NotFound
    token = secrets.token_urlsafe(32)
    row = {
        "id": new_id(),
        "digest": keys.digest(token),
        "account_id": account_id,
        "user_agent": user_agent[:_USER_AGENT_LIMIT],
        "ip": ip,
        "created_at": now,
        "seen_at": now,
        "expires_at": now + IDLE_LIMIT,
        "authenticated_at": now,
        "passkey_id": passkey,
    }
    await tx.execute(delete(sessions).where(sessions.c.expires_at <= now))
    await tx.execute(insert(sessions), row)
    return token


async def find(db: Database, token: str, *, now: datetime) -> Session | None:
    """With its account as it is now."""
    async with db.point_read() as tx:
        parameters = {"digest": keys.digest(token), "now": now, "oldest": now - AGE_LIMIT}
        row = (await tx.execute(_FIND, parameters)).one_or_none()
    if row is None:
        return None
    found = Session(account_from(row[: len(ACCOUNT)]), *row[len(ACCOUNT) :])
    if now - found.seen_at >= _LAST_USE_INTERVAL:
        async with db.write() as tx:
            used = update(sessions).where(sessions.c.id == found.id)
            await tx.execute(used.values(seen_at=now, expires_at=now + IDLE_LIMIT))
    return found


async def reauthenticate(tx: Tx, session: Session, *, now: datetime, passkey: UUID | None = None) -> Session:
    """By this passkey or by the password.

    Raises NotFound when the session has ended, and when the account does not have this passkey.
    """
    await store.lock_account(tx, session.account.id)  # a removal of the passkey comes before or after
    if passkey is not None and not await passkeys.exists(tx, session.account.id, passkey):
        raise NotFound
    updated = update(sessions).where(sessions.c.id == session.id)
    if (await tx.execute(updated.values(authenticated_at=now, passkey_id=passkey))).rowcount == 0:
        raise NotFound
    return replace(session, authenticated_at=now)


async def end(tx: Tx, account_id: UUID, session_id: UUID) -> bool:
    """False when the account does not have it."""
    own = sessions.c.id == session_id, sessions.c.account_id == account_id
    return (await tx.execute(delete(sessions).where(*own))).rowcount > 0


async def end_all(tx: Tx, account_id: UUID) -> None:
    await tx.execute(delete(sessions).where(sessions.c.account_id == account_id))


async def end_others(tx: Tx, session: Session) -> None:
    others = sessions.c.account_id == session.account.id, sessions.c.id != session.id
    await tx.execute(delete(sessions).where(*others))


async def is_active(tx: Tx, session: Session) -> bool:
    return (await tx.execute(select(sessions.c.id).where(sessions.c.id == session.id))).first() is not None


async def list_active(tx: Tx, account: Account, *, now: datetime) -> list[Session]:
    """The last used first."""
    active = sessions.c.account_id == account.id, sessions.c.expires_at > now, sessions.c.created_at > now - AGE_LIMIT
    rows = await tx.execute(select(*_FIELDS).where(*active).order_by(sessions.c.seen_at.desc()))
    return [Session(account, *row) for row in rows]
