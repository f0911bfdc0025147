"""The queue of certificate orders, fair among accounts: one account's hostnames do not delay those of others.

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

MAX_IN_FLIGHT_PER_ACCOUNT = 2
ORDER_LIMITS = {timedelta(hours=1): 20, timedelta(days=1): 50}
"""New orders per account. Renewals and the service's own hosts are neither counted nor limited."""
SOON = timedelta(days=10)
MAX_FAILURES = 1_000
MIN_WAIT, MAX_WAIT = timedelta(minutes=1), timedelta(days=1)
REQUEST_WAIT = timedelta(minutes=12)
"""Let's Encrypt allows five failed validations of a hostname in an hour."""

_cert, _domain, _order = certificates.c, domains.c, acme_orders.c


@dataclass(frozen=True, slots=True)
class CertificateClaim:
    """A hostname with an attempt in flight."""

    id: UUID
    hostname: str
    failures: int
    expires_at: datetime | None
    """Expiry of its current certificate."""
    leased_until: datetime
    """Only the holder of this lease may settle the attempt."""
    account_id: UUID | None
    """Account whose limit the order counts for; None if it does not count."""


def wait_after(failures: int) -> timedelta:
    """Return 1 minute, 4, 16, … up to a day."""
    return min(MIN_WAIT * (1 << 2 * min(failures - 1, 8)), MAX_WAIT)


async def choose(tx: Tx, now: datetime, limit: int) -> Mapping[UUID, UUID | None]:
    """Return rows to claim, each with the account that its order counts for.

    Reads one row at a time along the index of due rows: if very many are due, that is cheaper than sorting them.
    """
    busy = Counter(await tx.scalars(_in_flight(now)))
    chosen: dict[UUID, UUID | None] = {}
    for rank in _ranks(now):
        while len(chosen) < limit:
            full = [account_id for account_id, attempts in busy.items() if attempts >= MAX_IN_FLIGHT_PER_ACCOUNT]
            has_capacity = or_(_cert.is_own, and_(_domain.id.is_not(None), _domain.account_id.not_in(full)))
            query = _select_due(now).where(rank, has_capacity, _cert.id.not_in(chosen)).limit(1)
            row = (await tx.execute(query)).one_or_none()
            if row is None:
                break
            chosen[row.id] = row.counts
            busy.update([row.account_id] if row.account_id else [])
    return chosen


async def find_oldest_due(tx: Tx, now: datetime) -> datetime | None:
    since: datetime | None = await tx.scalar(select(func.min(_cert.due_at)).where(*_where_due(now)))
    return since


async def claim(
    tx: Tx, chosen: Mapping[UUID, UUID | None], *, now: datetime, lease: timedelta
) -> list[CertificateClaim]:
    """Lease the chosen rows that are still due."""
    until = now + lease
    query = select(_cert.id, _cert.hostname, _cert.failures, _cert.expires_at).where(
        _cert.id.in_(chosen), *_where_due(now)
    )
    rows = (await tx.execute(query.with_for_update(skip_locked=True))).all()
    await tx.execute(update(certificates).where(_cert.id.in_([row.id for row in rows])).values(leased_until=until))
    return [CertificateClaim(row.id, row.hostname, row.failures, row.expires_at, until, chosen[row.id]) for row in rows]


async def begin_order(tx: Tx, claimed: CertificateClaim, now: datetime, try_at: datetime) -> bool:
    """Count the order as failed until its end is recorded. Return False if the lease is lost."""
    values = {"failures": min(claimed.failures + 1, MAX_FAILURES), "due_at": try_at, "try_at": try_at}
    if (await tx.execute(update(certificates).where(where_leased([claimed])).values(values))).rowcount == 0:
        return False
    if claimed.account_id:
        await tx.execute(insert(acme_orders).values(id=new_id(), account_id=claimed.account_id, ordered_at=now))
    return True


async def release(tx: Tx, claimed: Collection[CertificateClaim]) -> None:
    """End the leases of stopped attempts. Those that have not placed an order are due immediately."""
    await tx.execute(update(certificates).where(where_leased(claimed)).values(leased_until=None))


def where_leased(claimed: Collection[CertificateClaim]) -> ColumnElement[bool]:
    return or_(*(and_(_cert.id == claim.id, _cert.leased_until == claim.leased_until) for claim in claimed))


def _where_due(now: datetime) -> tuple[ColumnElement[bool], ...]:
    # written so that the database does not scan all rows without a lease for due ones
    return _cert.due_at <= now, func.coalesce(_cert.leased_until, _cert.due_at) <= now


def _select_due(now: datetime) -> Select[UUID, UUID, UUID | None]:
    counts = case((or_(_cert.is_own, _where_has_certificate(now)), None), else_=_domain.account_id)
    query = select(_cert.id, _domain.account_id, counts.label("counts"))
    query = query.outerjoin_from(certificates, domains, and_(_domain.hostname == _cert.hostname, _domain.is_served))
    return query.where(*_where_due(now)).order_by(_cert.due_at, _cert.id)


def _ranks(now: datetime) -> list[ColumnElement[bool]]:
    ends_soon = and_(_where_has_certificate(now), _cert.expires_at <= now + SOON)
    within_limits = or_(
        _where_has_certificate(now), and_(*(_domain.account_id.not_in(limited) for limited in _accounts_at_limit(now)))
    )
    return [_cert.is_own, ends_soon, and_(_cert.failures == 0, within_limits), within_limits]


def _where_has_certificate(now: datetime) -> ColumnElement[bool]:
    return and_(_cert.expires_at > now, _cert.chain.is_not(None))


def _in_flight(now: datetime) -> Select[UUID]:
    """Query: the account of each hostname in flight."""
    return select(_domain.account_id).where(
        _domain.hostname.in_(select(_cert.hostname).where(_cert.leased_until > now))
    )


def _accounts_at_limit(now: datetime) -> list[Select[UUID]]:
    """Queries: the accounts that have reached each limit."""
    return [
        select(_order.account_id)
        .where(_order.ordered_at > now - period)
        .group_by(_order.account_id)
        .having(func.count() >= limit)
        for period, limit in ORDER_LIMITS.items()
    ]
