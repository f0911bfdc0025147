"""The queue of certificate orders, fair among accounts: no account's hostnames delay all others.

The service's own hosts come first, then certificates about to expire, then hostnames that never failed, then the rest;
within each group the longest waiting. Per account, only a few are in flight, and new orders are limited.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, case, func, insert, or_, select, update

from waypost.database import Tx
from waypost.kit.ids import new_id
from waypost.resources.domains.model import acme_orders, certificates, domains

AT_ONCE = 2
"""Attempts in flight per account."""
ORDER_LIMITS = {timedelta(hours=1): 20, timedelta(days=1): 50}
"""New orders per account. Renewals and the service's own hosts are neither counted nor limited."""
SOON = timedelta(days=10)
MOST_FAILURES = 1_000

_C, _D, _O = certificates.c, domains.c, acme_orders.c


@dataclass(frozen=True, slots=True)
class CertificateClaim:
    """A hostname with an attempt in flight."""

    id: UUID
    hostname: str
    failures: int
    expires_at: datetime | None
    """Of its current certificate."""
    leased_until: datetime
    """Only the holder of this lease may settle."""
    account_id: UUID | None
    """Whose limit the order counts for; None when it does not count."""


async def choose(tx: Tx, now: datetime, limit: int) -> Mapping[UUID, UUID | None]:
    """Rows to claim, each with the account that its order counts for. Only reads, so that no writer waits for it.

    One by one along the index of due rows: with very many due, that is cheaper than sorting them all.
    """
    busy = Counter(await tx.scalars(_in_flight(now)))
    chosen: dict[UUID, UUID | None] = {}
    for rank in _ranks(now):
        while len(chosen) < limit:
            full = [account_id for account_id, attempts in busy.items() if attempts >= AT_ONCE]
            may_have = or_(_C.is_own, and_(_D.id.is_not(None), _D.account_id.not_in(full)))
            found = _due(now).where(rank, may_have, _C.id.not_in(chosen)).limit(1)
            row = (await tx.execute(found)).one_or_none()
            if row is None:
                break
            chosen[row.id] = row.counts
            busy.update([row.account_id] if row.account_id else [])
    return chosen


async def claim(
    tx: Tx, chosen: Mapping[UUID, UUID | None], *, now: datetime, lease: timedelta
) -> list[CertificateClaim]:
    """Lease those that nobody else has claimed or withdrawn meanwhile."""
    until = now + lease
    found = select(_C.id, _C.hostname, _C.failures, _C.expires_at).where(_C.id.in_(chosen), *_is_due(now))
    rows = (await tx.execute(found.with_for_update(skip_locked=True))).all()
    await tx.execute(update(certificates).where(_C.id.in_([row.id for row in rows])).values(leased_until=until))
    return [CertificateClaim(row.id, row.hostname, row.failures, row.expires_at, until, chosen[row.id]) for row in rows]


async def begin_order(tx: Tx, claimed: CertificateClaim, now: datetime, try_at: datetime) -> bool:
    """Call it before the order: one whose end is never seen counts as failed. False when the lease is lost."""
    begun = {"failures": min(claimed.failures + 1, MOST_FAILURES), "due_at": try_at, "try_at": try_at}
    if (await tx.execute(update(certificates).where(is_held([claimed])).values(begun))).rowcount == 0:
        return False
    if claimed.account_id:
        await tx.execute(insert(acme_orders).values(id=new_id(), account_id=claimed.account_id, ordered_at=now))
    return True


async def release(tx: Tx, claimed: Collection[CertificateClaim]) -> None:
    """End the leases of stopped attempts. Those that had not placed an order are due immediately."""
    await tx.execute(update(certificates).where(is_held(claimed)).values(leased_until=None))


def is_held(claimed: Collection[CertificateClaim]) -> ColumnElement[bool]:
    return or_(*(and_(_C.id == each.id, _C.leased_until == each.leased_until) for each in claimed))


def _is_due(now: datetime) -> tuple[ColumnElement[bool], ...]:
    # written so that the database does not scan all free rows for due ones
    return _C.due_at <= now, func.coalesce(_C.leased_until, _C.due_at) <= now


def _due(now: datetime) -> Select[UUID, UUID, UUID | None]:
    counts = case((or_(_C.is_own, _has_certificate(now)), None), else_=_D.account_id)
    found = select(_C.id, _D.account_id, counts.label("counts"))
    found = found.outerjoin_from(certificates, domains, and_(_D.hostname == _C.hostname, _D.is_live))
    return found.where(*_is_due(now)).order_by(_C.due_at, _C.id)


def _ranks(now: datetime) -> list[ColumnElement[bool]]:
    ends_soon = and_(_has_certificate(now), _C.expires_at <= now + SOON)
    is_within_limits = or_(
        _has_certificate(now), and_(*(_D.account_id.not_in(limited) for limited in _accounts_at_limit(now)))
    )
    return [_C.is_own, ends_soon, and_(_C.failures == 0, is_within_limits), is_within_limits]


def _has_certificate(now: datetime) -> ColumnElement[bool]:
    return and_(_C.expires_at > now, _C.chain.is_not(None))


def _in_flight(now: datetime) -> Select[UUID]:
    """The account of each hostname in flight."""
    return select(_D.account_id).where(_D.hostname.in_(select(_C.hostname).where(_C.leased_until > now)))


def _accounts_at_limit(now: datetime) -> list[Select[UUID]]:
    """Accounts that have reached a limit."""
    return [
        select(_O.account_id).where(_O.ordered_at > now - time).group_by(_O.account_id).having(func.count() >= most)
        for time, most in ORDER_LIMITS.items()
    ]
