"""How long an account has held a hostname unverified, also after deleting it: seven days in total.

Deleting and registering a hostname again does not restart the seven days, which would block it for its owner forever.
"""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Column, Table, delete, func, select
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
