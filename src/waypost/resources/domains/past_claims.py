"""How long an account has held a name without proof, also after it gave the name up: in all, seven days.

Refuses to begin anew for who deletes a name and registers it again, which would block it for its owner for ever.
"""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Column, Table, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from waypost.database import Id, Instant, Tx, metadata
from waypost.resources.domains.model import NAME

KEPT = timedelta(days=7)
"""A claim without proof ends then."""
REMEMBERED = timedelta(days=30)
"""From its end on."""

_claims = Table(
    "domain_claims",
    metadata,
    Column("account_id", Id, primary_key=True),
    Column("hostname", NAME, primary_key=True),
    Column("since", Instant, nullable=False),  # with the time of earlier claims
    Column("ended_at", Instant, nullable=False, index=True),
)
_C = _claims.c


async def end(tx: Tx, account_id: UUID, hostname: str, *, since: datetime, at: datetime) -> None:
    """Of a claim without proof. In the transaction that removes it."""
    values = {"account_id": account_id, "hostname": hostname, "since": since, "ended_at": at}
    insert = postgresql.insert if tx.dialect.name == "postgresql" else sqlite.insert
    kept = insert(_claims).values(values)
    kept = kept.on_conflict_do_update(index_elements=[_C.account_id, _C.hostname], set_=values)
    await tx.execute(kept)
    await tx.execute(delete(_claims).where(_C.ended_at <= at - REMEMBERED))


async def held(tx: Tx, account_id: UUID, hostname: str, *, now: datetime) -> tuple[timedelta, datetime]:
    """(how long the account has held the name without proof before, when that is forgotten)."""
    wanted = select(_C.since, _C.ended_at).where(_C.account_id == account_id, _C.hostname == hostname)
    row = (await tx.execute(wanted.where(_C.ended_at > now - REMEMBERED))).one_or_none()
    return (timedelta(), now) if row is None else (row.ended_at - row.since, row.ended_at + REMEMBERED)


async def count(tx: Tx, account_id: UUID, *, now: datetime) -> int:
    """Names that are remembered of the account."""
    remembered = (_C.account_id == account_id, _C.ended_at > now - REMEMBERED)
    return (await tx.execute(select(func.count()).select_from(_claims).where(*remembered))).scalar_one()


async def forget(tx: Tx, hostname: str, account_id: UUID | None = None) -> bool:
    """Of the account, which has proven the name, or of everybody. Whether anything was remembered."""
    one = () if account_id is None else (_C.account_id == account_id,)
    return (await tx.execute(delete(_claims).where(_C.hostname == hostname, *one))).rowcount > 0
