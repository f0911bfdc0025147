"""Invitations to accounts, and offers of ownership: tables and every statement on them.

Only the digest of an invitation's token is stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Column, ForeignKey, Select, String, Table, Text, and_, delete, func, insert, or_, select, update

from waypost.accounts import model as tables
from waypost.accounts.keys import format as key_format
from waypost.accounts.model import Role
from waypost.database import Id, Instant, Tx, metadata, upsert

LIFETIME = timedelta(days=7)
_RETENTION = timedelta(days=30)

invitations = Table(
    "invitations",
    metadata,
    Column("id", Id, primary_key=True),
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("email", String(254)),  # lower case; null: anyone with the link
    Column("role", Text, nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("created_by", Id, ForeignKey("people.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("ended_at", Instant),  # accepted or revoked; kept for a while, because a day's invitations are limited
)
ownership_offers = Table(
    "ownership_offers",
    metadata,
    Column("account_id", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("person_id", Id, ForeignKey("people.id", ondelete="CASCADE"), nullable=False, index=True),  # to whom
    Column("offered_by", Id, ForeignKey("people.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("role_after", Text, nullable=False),  # of who offers it
    Column("created_at", Instant, nullable=False),
)
_invitations, _offers = invitations.c, ownership_offers.c


@dataclass(frozen=True, slots=True)
class Invitation:
    id: UUID
    account_id: UUID
    email: str | None
    role: Role
    created_by: UUID
    created_at: datetime
    expires_at: datetime
    inviter_email: str
    inviter_role: Role | None
    """Now; None if they are no longer a member."""
    account_name: str


@dataclass(frozen=True, slots=True)
class OwnershipOffer:
    account_id: UUID
    person_id: UUID
    offered_by: UUID
    role_after: Role
    created_at: datetime


_FIELDS = [_invitations[name] for name in list(Invitation.__dataclass_fields__)[:7]]
_INVITER = and_(
    tables.memberships.c.account_id == _invitations.account_id,
    tables.memberships.c.person_id == _invitations.created_by,
)
_OPEN: Select[Any] = (
    select(*_FIELDS, tables.people.c.email, tables.memberships.c.role, tables.accounts.c.name)
    .join_from(invitations, tables.people, tables.people.c.id == _invitations.created_by)
    .join(tables.accounts, tables.accounts.c.id == _invitations.account_id)
    .outerjoin(tables.memberships, _INVITER)
    .where(_invitations.ended_at.is_(None), tables.accounts.c.deleted_at.is_(None))
)


async def add(tx: Tx, row: dict[str, Any], token: str) -> None:
    """Add an invitation, and delete those of the account that ended long ago."""
    old = _invitations.created_at < row["created_at"] - _RETENTION
    await tx.execute(delete(invitations).where(_invitations.account_id == row["account_id"], old))
    await tx.execute(insert(invitations).values(**row, digest=key_format.digest(token)))


async def renew(tx: Tx, invitation_id: UUID, token: str, **values: Any) -> None:
    """Replace the token."""
    statement = update(invitations).where(_invitations.id == invitation_id)
    await tx.execute(statement.values(digest=key_format.digest(token), **values))


async def find(tx: Tx, token: str, now: datetime) -> Invitation | None:
    """Return an invitation that was neither accepted nor revoked, and has not expired."""
    conditions = _invitations.digest == key_format.digest(token), _invitations.expires_at > now
    return await tx.find(Invitation, _OPEN.where(*conditions))


async def find_by_id(tx: Tx, account_id: UUID, invitation_id: UUID) -> Invitation | None:
    conditions = _invitations.account_id == account_id, _invitations.id == invitation_id
    return await tx.find(Invitation, _OPEN.where(*conditions))


async def find_by_email(tx: Tx, account_id: UUID, email: str, now: datetime) -> Invitation | None:
    conditions = _invitations.account_id == account_id, _invitations.email == email, _invitations.expires_at > now
    return await tx.find(Invitation, _OPEN.where(*conditions).limit(1))


async def list_valid(tx: Tx, email: str, now: datetime) -> Sequence[Invitation]:
    """List the invitations of all accounts for the email that were neither accepted nor revoked, nor have expired."""
    rows = await tx.execute(_OPEN.where(_invitations.email == email, _invitations.expires_at > now))
    return [Invitation(*row) for row in rows]


async def list_open(tx: Tx, account_id: UUID) -> Sequence[Invitation]:
    """List what was neither accepted nor revoked, newest first, expired ones included."""
    rows = await tx.execute(_OPEN.where(_invitations.account_id == account_id).order_by(_invitations.id.desc()))
    return [Invitation(*row) for row in rows]


async def count(tx: Tx, account_id: UUID, *, after: datetime) -> tuple[int, int]:
    """Return (open ones, all that were made after this time)."""
    conditions = _invitations.account_id == account_id
    is_open, is_new = _invitations.ended_at.is_(None), _invitations.created_at > after
    query = select(func.count().filter(is_open), func.count().filter(is_new)).where(conditions)
    row = (await tx.execute(query)).one()
    return row[0], row[1]


async def end(tx: Tx, invitation_id: UUID, now: datetime) -> bool:
    """Return False if it has ended before: of two concurrent attempts one succeeds."""
    statement = update(invitations).where(_invitations.id == invitation_id, _invitations.ended_at.is_(None))
    return (await tx.execute(statement.values(ended_at=now))).rowcount > 0


async def expire_sent_by(tx: Tx, account_id: UUID, person_id: UUID, now: datetime, *, kept: Sequence[Role]) -> None:
    """Let the person's invitations expire, except those to roles of `kept`. Other members can resend them."""
    statement = update(invitations).where(_invitations.account_id == account_id, _invitations.created_by == person_id)
    is_ended = _invitations.expires_at > now, _invitations.role.not_in(kept)
    await tx.execute(statement.where(*is_ended).values(expires_at=now))


async def end_sent_to(tx: Tx, account_id: UUID, email: str, now: datetime) -> None:
    statement = update(invitations).where(_invitations.account_id == account_id, _invitations.email == email)
    await tx.execute(statement.where(_invitations.ended_at.is_(None)).values(ended_at=now))


# offers of ownership


async def put_offer(tx: Tx, offer: OwnershipOffer) -> None:
    """Replace the account's offer."""
    values = {name: getattr(offer, name) for name in OwnershipOffer.__dataclass_fields__}
    statement = upsert(tx, ownership_offers).values(values)
    await tx.execute(statement.on_conflict_do_update(index_elements=[_offers.account_id], set_=values))


async def find_offer(tx: Tx, account_id: UUID, *, after: datetime) -> OwnershipOffer | None:
    columns = [_offers[name] for name in OwnershipOffer.__dataclass_fields__]
    query = select(*columns).where(_offers.account_id == account_id, _offers.created_at > after)
    return await tx.find(OwnershipOffer, query)


async def delete_offer(tx: Tx, account_id: UUID) -> None:
    await tx.execute(delete(ownership_offers).where(_offers.account_id == account_id))


async def delete_offers_of(tx: Tx, account_id: UUID, person_id: UUID) -> None:
    """Delete the account's offer if the person made it or got it."""
    is_of_person = or_(_offers.person_id == person_id, _offers.offered_by == person_id)
    await tx.execute(delete(ownership_offers).where(_offers.account_id == account_id, is_of_person))
