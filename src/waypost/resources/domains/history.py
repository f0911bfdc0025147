"""Which accounts have verified a hostname, and how long they had it unverified. Kept after the domain is deleted.

A CNAME record does not name an account: one that a former owner left in place would verify the hostname for any other
account. So a hostname that another account has ever verified is verified by a TXT record only.

An account may have a hostname unverified for seven days in total: deleting and registering it again does not restart
them, which would block it for its owner forever.
"""

import hashlib
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Column, ColumnElement, String, Table, delete, func, select

from waypost.database import Id, Instant, Tx, metadata, upsert
from waypost.resources.domains.model import NAME

MAX_UNVERIFIED = timedelta(days=7)
"""An unverified registration ends after this."""
REGISTRATION_RETENTION = timedelta(days=30)
"""How long the end of an unverified registration is kept."""

_registrations = Table(
    "unverified_registrations",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("hostname", NAME, primary_key=True),
    Column("since", Instant, nullable=False),  # earlier by the duration of earlier registrations
    Column("ended_at", Instant, nullable=False, index=True),
)

_verified = Table(
    "verified_names",
    metadata,
    Column("hostname", NAME, primary_key=True),
    Column("account_digest", String(64), primary_key=True),
    sqlite_with_rowid=False,
)


async def record_verified(tx: Tx, account_id: UUID, hostname: str) -> None:
    row = {"hostname": hostname, "account_digest": digest(account_id, hostname)}
    await tx.execute(upsert(tx, _verified).values(row).on_conflict_do_nothing())


async def is_verified_by(tx: Tx, account_id: UUID, hostname: str) -> bool:
    return await _exists(tx, hostname, _verified.c.account_digest == digest(account_id, hostname))


async def is_verified_by_another(tx: Tx, account_id: UUID, hostname: str) -> bool:
    return await _exists(tx, hostname, _verified.c.account_digest != digest(account_id, hostname))


def digest(account_id: UUID, hostname: str) -> str:
    """Return an identifier of the account for one hostname, which reveals nothing about a deleted account."""
    return hashlib.sha256(account_id.bytes + hostname.encode()).hexdigest()


async def _exists(tx: Tx, hostname: str, condition: ColumnElement[bool]) -> bool:
    query = select(_verified.c.hostname).where(_verified.c.hostname == hostname, condition).limit(1)
    return (await tx.execute(query)).first() is not None


async def record_end(tx: Tx, account_id: UUID, hostname: str, *, since: datetime, at: datetime) -> None:
    """Record the end of an unverified registration, in the transaction that deletes it."""
    values = {"account_id": account_id, "hostname": hostname, "since": since, "ended_at": at}
    statement = upsert(tx, _registrations).values(values)
    statement = statement.on_conflict_do_update(
        index_elements=[_registrations.c.account_id, _registrations.c.hostname], set_=values
    )
    await tx.execute(statement)
    await tx.execute(delete(_registrations).where(_registrations.c.ended_at <= at - REGISTRATION_RETENTION))


async def find_time_unverified(tx: Tx, account_id: UUID, hostname: str, *, now: datetime) -> tuple[timedelta, datetime]:
    """Return (how long the account had the hostname unverified before, when that record is deleted)."""
    query = select(_registrations.c.since, _registrations.c.ended_at).where(
        _registrations.c.account_id == account_id, _registrations.c.hostname == hostname
    )
    row = (await tx.execute(query.where(_registrations.c.ended_at > now - REGISTRATION_RETENTION))).one_or_none()
    return (timedelta(), now) if row is None else (row.ended_at - row.since, row.ended_at + REGISTRATION_RETENTION)


async def count_registrations(tx: Tx, account_id: UUID, *, now: datetime) -> int:
    """Count the recorded hostnames of the account."""
    conditions = (_registrations.c.account_id == account_id, _registrations.c.ended_at > now - REGISTRATION_RETENTION)
    return (await tx.execute(select(func.count()).select_from(_registrations).where(*conditions))).scalar_one()


async def delete_registrations(tx: Tx, hostname: str, account_id: UUID | None = None) -> bool:
    """Delete the records of the hostname, of one account or of all. Return False if there were none."""
    conditions = () if account_id is None else (_registrations.c.account_id == account_id,)
    return (
        await tx.execute(delete(_registrations).where(_registrations.c.hostname == hostname, *conditions))
    ).rowcount > 0
