"""Which accounts have verified a hostname, and how long they held it unverified. Kept after the domain is deleted.

A CNAME record names no account: one that a former owner left in place would verify the hostname for anybody. So a
hostname that another account has ever verified is verified by a TXT record only.

An account may hold a hostname unverified for seven days in total: deleting and registering it again does not restart
them, which would block it for its owner forever.
"""

import hashlib
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Column, ColumnElement, String, Table, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from waypost.database import Id, Instant, Tx, metadata
from waypost.resources.domains.model import NAME

KEPT = timedelta(days=7)
"""An unverified claim ends after this."""
REMEMBERED = timedelta(days=30)
"""After its end."""

_claims = Table(
    "domain_claims",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("hostname", NAME, primary_key=True),
    Column("since", Instant, nullable=False),  # earlier by the duration of earlier claims
    Column("ended_at", Instant, nullable=False, index=True),
)
_C = _claims.c

_verified = Table(
    "verified_names",
    metadata,
    Column("hostname", NAME, primary_key=True),
    Column("account_digest", String(64), primary_key=True),
    sqlite_with_rowid=False,
)
_V = _verified.c


async def record_verified(tx: Tx, account_id: UUID, hostname: str) -> None:
    row = {"hostname": hostname, "account_digest": digest(account_id, hostname)}
    insert = postgresql.insert if tx.dialect.name == "postgresql" else sqlite.insert
    await tx.execute(insert(_verified).values(row).on_conflict_do_nothing())


async def is_verified_by(tx: Tx, account_id: UUID, hostname: str) -> bool:
    """Whether this account has ever verified it."""
    return await _exists(tx, hostname, _V.account_digest == digest(account_id, hostname))


async def is_verified_by_another(tx: Tx, account_id: UUID, hostname: str) -> bool:
    """Whether another account has ever verified it."""
    return await _exists(tx, hostname, _V.account_digest != digest(account_id, hostname))


def digest(account_id: UUID, hostname: str) -> str:
    """Identifies the account for one hostname. Reveals nothing about an account that was deleted."""
    return hashlib.sha256(account_id.bytes + hostname.encode()).hexdigest()


async def _exists(tx: Tx, hostname: str, condition: ColumnElement[bool]) -> bool:
    found = select(_V.hostname).where(_V.hostname == hostname, condition).limit(1)
    return (await tx.execute(found)).first() is not None


async def record_end(tx: Tx, account_id: UUID, hostname: str, *, since: datetime, at: datetime) -> None:
    """Of an unverified claim, in the transaction that deletes it."""
    values = {"account_id": account_id, "hostname": hostname, "since": since, "ended_at": at}
    insert = postgresql.insert if tx.dialect.name == "postgresql" else sqlite.insert
    claim = insert(_claims).values(values)
    claim = claim.on_conflict_do_update(index_elements=[_C.account_id, _C.hostname], set_=values)
    await tx.execute(claim)
    await tx.execute(delete(_claims).where(_C.ended_at <= at - REMEMBERED))


async def time_held(tx: Tx, account_id: UUID, hostname: str, *, now: datetime) -> tuple[timedelta, datetime]:
    """(how long the account has held the hostname unverified before, when that is forgotten)."""
    found = select(_C.since, _C.ended_at).where(_C.account_id == account_id, _C.hostname == hostname)
    row = (await tx.execute(found.where(_C.ended_at > now - REMEMBERED))).one_or_none()
    return (timedelta(), now) if row is None else (row.ended_at - row.since, row.ended_at + REMEMBERED)


async def count(tx: Tx, account_id: UUID, *, now: datetime) -> int:
    """Hostnames that are remembered for the account."""
    remembered = (_C.account_id == account_id, _C.ended_at > now - REMEMBERED)
    return (await tx.execute(select(func.count()).select_from(_claims).where(*remembered))).scalar_one()


async def forget(tx: Tx, hostname: str, account_id: UUID | None = None) -> bool:
    """For the account, which has verified it, or for all accounts. Whether anything was remembered."""
    one = () if account_id is None else (_C.account_id == account_id,)
    return (await tx.execute(delete(_claims).where(_C.hostname == hostname, *one))).rowcount > 0
