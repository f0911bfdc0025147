"""One-time tokens: what a link in a mail carries, and what a passkey signs. Each does one thing, once, for a while.

The text is in the link alone; here is its digest. Looking at one spends nothing: mail scanners open every link.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal
from uuid import UUID

from sqlalchemy import Column, ColumnElement, ForeignKey, String, Table, Text, delete, func, insert, select

from waypost.database import Database, Id, Instant, Tx, metadata

Purpose = Literal["enter", "confirm", "move", "reset", "invite", "passkey", "taken"]
LASTS: dict[Purpose, timedelta] = {
    "enter": timedelta(minutes=15),
    "confirm": timedelta(days=7),
    "move": timedelta(days=1),  # to another address
    "reset": timedelta(hours=1),
    "invite": timedelta(days=7),
    "passkey": timedelta(minutes=5),
    "taken": timedelta(days=1),  # lets nobody in: says that an owner was told somebody tried to have their address
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


@dataclass(frozen=True, slots=True)
class Token:
    account_id: UUID | None
    email: str | None
    created_at: datetime


async def issue(
    tx: Tx, purpose: Purpose, *, now: datetime, account_id: UUID | None = None, email: str | None = None
) -> str:
    """Returns the text, which nobody can be shown again."""
    text = secrets.token_urlsafe(32)
    row = {
        "digest": _digest(text),
        "purpose": purpose,
        "account_id": account_id,
        "email": email,
        "created_at": now,
        "expires_at": now + LASTS[purpose],
    }
    await tx.execute(delete(one_time_tokens).where(_T.expires_at <= now))
    await tx.execute(insert(one_time_tokens), row)
    return text


async def find(db: Database, purpose: Purpose, text: str, *, now: datetime) -> Token | None:
    """Without spending it."""
    found = select(_T.account_id, _T.email, _T.created_at).where(*_is(purpose, text, now))
    async with db.read() as tx:
        row = (await tx.execute(found)).one_or_none()
    return None if row is None else Token(*row)


async def spend(tx: Tx, purpose: Purpose, text: str, *, now: datetime) -> Token | None:
    """Of two who try at once one succeeds."""
    spent = delete(one_time_tokens).where(*_is(purpose, text, now)).returning(_T.account_id, _T.email, _T.created_at)
    row = (await tx.execute(spent)).one_or_none()
    return None if row is None else Token(*row)


async def issued_for(tx: Tx, purpose: Purpose, email: str, *, after: datetime) -> set[UUID | None]:
    """By which accounts those were issued for an address that nobody has spent."""
    made = _T.purpose == purpose, _T.email == email, _T.created_at > after
    return set((await tx.execute(select(_T.account_id).where(*made))).scalars())


async def unspent(tx: Tx, purpose: Purpose, account_id: UUID, *, now: datetime) -> int:
    its = _T.account_id == account_id, _T.purpose == purpose, _T.expires_at > now
    return (await tx.execute(select(func.count()).select_from(one_time_tokens).where(*its))).scalar_one()


async def end_all(tx: Tx, account_id: UUID) -> None:
    """Of an account: links on their way to an old address, or made before a password changed."""
    await tx.execute(delete(one_time_tokens).where(_T.account_id == account_id))


def _is(purpose: Purpose, text: str, now: datetime) -> Sequence[ColumnElement[bool]]:
    return _T.digest == _digest(text), _T.purpose == purpose, _T.expires_at > now


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
