"""One-time tokens, for links in emails and for passkey challenges.

Only the digest is stored. Reading a token does not consume it: mail scanners open every link.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args
from uuid import UUID

from sqlalchemy import Column, ColumnElement, ForeignKey, String, Table, Text, delete, func, insert, select

from waypost.accounts.keys import format as key_format
from waypost.database import Database, Id, Instant, Tx, metadata

Purpose = Literal[
    "sign_in",
    "confirm",
    "change_email",
    "reset",
    "invite",
    "passkey",
    "second_factor",
    "oidc",
    "logout",
    "email_in_use",
    "wrong_codes",
]
LIFETIMES: dict[Purpose, timedelta] = {
    "sign_in": timedelta(minutes=15),
    "confirm": timedelta(days=7),
    "change_email": timedelta(days=1),
    "reset": timedelta(hours=1),
    "invite": timedelta(days=7),
    "passkey": timedelta(minutes=5),
    "second_factor": timedelta(minutes=5),  # the browser that has sent the right password
    "oidc": timedelta(minutes=15),
    "logout": timedelta(minutes=15),  # grants nothing: records that a logout token was used
    "email_in_use": timedelta(days=1),  # grants nothing: records that the owner of the email was notified
    "wrong_codes": timedelta(days=1),  # grants nothing: records that the person was notified of wrong codes
}

one_time_tokens = Table(
    "one_time_tokens",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("purpose", Text, nullable=False),
    Column("person_id", Id, ForeignKey("people.id", ondelete="CASCADE"), index=True),
    Column("email", String(254)),  # recipient
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False, index=True),
)
_tokens = one_time_tokens.c
_TOKEN = _tokens.person_id, _tokens.email, _tokens.created_at


@dataclass(frozen=True, slots=True)
class OneTimeToken:
    person_id: UUID | None
    email: str | None
    created_at: datetime


async def issue(
    tx: Tx, purpose: Purpose, *, now: datetime, person_id: UUID | None = None, email: str | None = None
) -> str:
    """Return the token's text, which cannot be read again."""
    text = secrets.token_urlsafe(32)
    row = {
        "digest": key_format.digest(text),
        "purpose": purpose,
        "person_id": person_id,
        "email": email,
        "created_at": now,
        "expires_at": now + LIFETIMES[purpose],
    }
    await tx.execute(delete(one_time_tokens).where(_tokens.expires_at <= now))
    await tx.execute(insert(one_time_tokens), row)
    return text


async def use_once(tx: Tx, purpose: Purpose, text: str, *, now: datetime) -> None:
    """Record that a token of somebody else was used. Raises IntegrityError if it was used before."""
    row = {"digest": key_format.digest(f"{purpose} {text}"), "purpose": purpose, "created_at": now}
    await tx.execute(insert(one_time_tokens), row | {"expires_at": now + LIFETIMES[purpose]})


async def find(db: Database, purpose: Purpose, text: str, *, now: datetime) -> OneTimeToken | None:
    """Return a valid token without consuming it."""
    async with db.read() as tx:
        return await tx.find(OneTimeToken, select(*_TOKEN).where(*_where_valid(purpose, text, now)))


async def consume(tx: Tx, purpose: Purpose, text: str, *, now: datetime) -> OneTimeToken | None:
    """Delete and return a valid token. Of two concurrent attempts one succeeds."""
    statement = delete(one_time_tokens).where(*_where_valid(purpose, text, now)).returning(*_TOKEN)
    return await tx.find(OneTimeToken, statement)


async def find_people_with_token(tx: Tx, purpose: Purpose, email: str, *, after: datetime) -> set[UUID | None]:
    """Return the people who have an unused token for this email."""
    conditions = _tokens.purpose == purpose, _tokens.email == email, _tokens.created_at > after
    return set((await tx.execute(select(_tokens.person_id).where(*conditions))).scalars())


async def count_unused(tx: Tx, purpose: Purpose, person_id: UUID, *, now: datetime) -> int:
    conditions = _tokens.person_id == person_id, _tokens.purpose == purpose, _tokens.expires_at > now
    return (await tx.execute(select(func.count()).select_from(one_time_tokens).where(*conditions))).scalar_one()


async def delete_all(tx: Tx, person_id: UUID, *purposes: Purpose) -> None:
    """Delete the person's tokens for these purposes, by default for all."""
    found = _tokens.purpose.in_(purposes or get_args(Purpose))
    await tx.execute(delete(one_time_tokens).where(_tokens.person_id == person_id, found))


def _where_valid(purpose: Purpose, text: str, now: datetime) -> Sequence[ColumnElement[bool]]:
    return _tokens.digest == key_format.digest(text), _tokens.purpose == purpose, _tokens.expires_at > now
