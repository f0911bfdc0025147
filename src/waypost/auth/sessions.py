"""Who is signed in with which browser. A session's token is in its cookie alone: here is only the digest.

Ends by itself 30 days after it was last used and 90 days after it began (R35), and at once with a changed password
(R14) or with the passkey that its owner last proved who they are by.
"""

import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from sqlalchemy import Column, ForeignKey, String, Table, Text, bindparam, delete, insert, select, update

from waypost.auth import passkeys, store
from waypost.auth.model import Account, Caller, accounts
from waypost.auth.store import ACCOUNT, account_from
from waypost.database import Database, Id, Instant, Tx, metadata
from waypost.kit.errors import NotFound
from waypost.kit.ids import new_id

IDLE_LIMIT = timedelta(days=30)
AGE_LIMIT = timedelta(days=90)
_NOTED_EVERY = timedelta(minutes=5)
_AGENT_KEPT = 256

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
    Column("authenticated_at", Instant, nullable=False),  # when its owner last proved who they are
    Column("passkey_id", Id, ForeignKey("passkeys.id", ondelete="CASCADE"), index=True),  # if they did by one
)
_FIELDS = (
    sessions.c.id,
    sessions.c.user_agent,
    sessions.c.ip,
    sessions.c.created_at,
    sessions.c.seen_at,
    sessions.c.authenticated_at,
)
_FIND = (
    select(*ACCOUNT, *_FIELDS)
    .join_from(sessions, accounts, sessions.c.account_id == accounts.c.id)
    .where(sessions.c.digest == bindparam("digest"), sessions.c.expires_at > bindparam("now"))
    .where(sessions.c.created_at > bindparam("oldest"))
    .where(accounts.c.closed_at.is_(None))
)


@dataclass(frozen=True, slots=True)
class Session(Caller):
    id: UUID
    user_agent: str
    ip: str
    created_at: datetime
    seen_at: datetime
    authenticated_at: datetime


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
    """Returns the token, which nobody can be shown again.

    Raises NotFound when the account is closed, or has another `password` (its hash) or not this `passkey` any more:
    whoever proved it before a change that ended all sessions must not begin one after it.
    """
    await store.lock_account(tx, account_id)
    if password is not None and await store.password_of(tx, account_id) != password:
        raise NotFound
    if passkey is not None and not await passkeys.is_there(tx, account_id, passkey):
        raise NotFound
    token = secrets.token_urlsafe(32)
    row = {
        "id": new_id(),
        "digest": _digest(token),
        "account_id": account_id,
        "user_agent": user_agent[:_AGENT_KEPT],
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
    """The session this token belongs to, and its account as it is now."""
    async with db.point_read() as tx:
        wanted = {"digest": _digest(token), "now": now, "oldest": now - AGE_LIMIT}
        row = (await tx.execute(_FIND, wanted)).one_or_none()
    if row is None:
        return None
    found = Session(account_from(row[: len(ACCOUNT)]), *row[len(ACCOUNT) :])
    if now - found.seen_at >= _NOTED_EVERY:
        async with db.write() as tx:
            seen = update(sessions).where(sessions.c.id == found.id)
            await tx.execute(seen.values(seen_at=now, expires_at=now + IDLE_LIMIT))
    return found


async def reauthenticate(tx: Tx, session: Session, *, now: datetime, passkey: UUID | None = None) -> Session:
    """Its owner has proved once more who they are, by this passkey or by the password.

    Raises NotFound when the session has ended, and when the account does not have this passkey.
    """
    await store.lock_account(tx, session.account.id)  # who removes the passkey comes before or after
    if passkey is not None and not await passkeys.is_there(tx, session.account.id, passkey):
        raise NotFound
    its = update(sessions).where(sessions.c.id == session.id)
    if (await tx.execute(its.values(authenticated_at=now, passkey_id=passkey))).rowcount == 0:
        raise NotFound
    return replace(session, authenticated_at=now)


async def end(tx: Tx, account_id: UUID, session_id: UUID) -> bool:
    """False when it is not there, or another account's."""
    its = sessions.c.id == session_id, sessions.c.account_id == account_id
    return (await tx.execute(delete(sessions).where(*its))).rowcount > 0


async def end_all(tx: Tx, account_id: UUID, *, but: UUID | None = None) -> None:
    gone = delete(sessions).where(sessions.c.account_id == account_id)
    await tx.execute(gone if but is None else gone.where(sessions.c.id != but))


async def lasts(tx: Tx, session: Session) -> bool:
    return (await tx.execute(select(sessions.c.id).where(sessions.c.id == session.id))).first() is not None


async def of_account(tx: Tx, account: Account, *, now: datetime) -> list[Session]:
    """Those that last, the one used last first."""
    lasting = sessions.c.account_id == account.id, sessions.c.expires_at > now, sessions.c.created_at > now - AGE_LIMIT
    rows = await tx.execute(select(*_FIELDS).where(*lasting).order_by(sessions.c.seen_at.desc()))
    return [Session(account, *row) for row in rows]


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
