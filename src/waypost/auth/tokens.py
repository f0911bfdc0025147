"""One-time tokens, for links in emails and for passkey challenges.

Only the digest is stored. Reading a token does not spend it: mail scanners open every link.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from sqlalchemy import Column, ColumnElement, ForeignKey, String, Table, Text, delete, func, insert, select

from waypost.auth import keys
from waypost.database import Database, Id, Instant, Tx, metadata

Purpose = Literal["enter", "confirm", "move", "reset", "invite", "passkey", "taken"]
LIFETIMES: dict[Purpose, timedelta] = {
    "enter": timedelta(minutes=15),  # signs in
    "confirm": timedelta(days=7),
    "move": timedelta(days=1),  # confirms a new email address
    "reset": timedelta(hours=1),
    "invite": timedelta(days=7),
    "passkey": timedelta(minutes=5),
    "taken": timedelta(days=1),  # grants nothing: records that the owner of an email was notified
}

one_time_tokens = Table(
    "one_time_tokens",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("purpose", Text, nullable=False),
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), index=True),
    Column("email", String(254)),  # that it was sent to
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False, index=True),
)
_T = one_time_tokens.c
_TOKEN = _T.account_id, _T.email, _T.created_at


@dataclass(frozen=True, slots=True)
class OneTimeToken:
    account_id: UUID | None
    email: str | None
    created_at: datetime


async def issue(
    tx: Tx, purpose: Purpose, *, now: datetime, account_id: UUID | None = None, email: str | None = None
) -> str:
    """Returns the token's text, which cannot be read again."""
    text = secrets.token_urlsafe(32)
    row = {
        "digest": keys.digest(text),
        "purpose": purpose,
        "account_id": account_id,
        "email": email,
        "created_at": now,
        "expires_at": now + LIFETIMES[purpose],
    }
    await tx.execute(delete(one_time_tokens).where(_T.expires_at <= now))
    await tx.execute(insert(one_time_tokens), row)
    return text


async def find(db: Database, purpose: Purpose, text: str, *, now: datetime) -> OneTimeToken | None:
    """Does not spend it."""
    async with db.read() as tx:
        row = (await tx.execute(select(*_TOKEN).where(*_is(purpose, text, now)))).one_or_none()
    return None if row is None else OneTimeToken(*row)


async def spend(tx: Tx, purpose: Purpose, text: str, *, now: datetime) -> OneTimeToken | None:
    """Of two concurrent attempts one succeeds."""
    spent = delete(one_time_tokens).where(*_is(purpose, text, now)).returning(*_TOKEN)
    row = (await tx.execute(spent)).one_or_none()
    return None if row is None else OneTimeToken(*row)


async def find_issuers(tx: Tx, purpose: Purpose, email: str, *, after: datetime) -> set[UUID | None]:
    """Accounts that have an unspent token for this email."""
    issued = _T.purpose == purpose, _T.email == email, _T.created_at > after
    return set((await tx.execute(select(_T.account_id).where(*issued))).scalars())


async def count_unspent(tx: Tx, purpose: Purpose, account_id: UUID, *, now: datetime) -> int:
    unspent = _T.account_id == account_id, _T.purpose == purpose, _T.expires_at > now
    return (await tx.execute(select(func.count()).select_from(one_time_tokens).where(*unspent))).scalar_one()


async def delete_all(tx: Tx, account_id: UUID) -> None:
    await tx.execute(delete(one_time_tokens).where(_T.account_id == account_id))


def _is(purpose: Purpose, text: str, now: datetime) -> Sequence[ColumnElement[bool]]:
    return _T.digest == keys.digest(text), _T.purpose == purpose, _T.expires_at > now
