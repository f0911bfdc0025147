"""The queue of domain checks. A check is claimed under a lease, and only the holder of the lease may settle it.

Requested checks go first. No account has more than its share in flight, so that a thousand broken domains of one
account do not delay others.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, update

from waypost.database import Tx, take_advisory_lock
from waypost.kit.clock import Clock
from waypost.resources.domains.history import MAX_UNVERIFIED
from waypost.resources.domains.model import Domain, domains
from waypost.resources.domains.store import DOMAIN

LEASE = timedelta(seconds=60)
MAX_IN_FLIGHT_PER_ACCOUNT = 2
_domain = domains.c
_LOCK = 0x646F6D61696E  # "domain"
_MAX_CANDIDATES = 200


@dataclass(frozen=True, slots=True)
class DomainCheckClaim:
    id: UUID
    hostname: str
    token: str
    needs_txt: bool
    check_at: datetime
    """When it became due. If it differs later, the check has been requested again."""
    leased_until: datetime


async def has_work(tx: Tx, now: datetime) -> bool:
    """Whether `claim` would return anything, without a write lock: usually there is nothing to do."""
    has_due = (await tx.execute(select(_domain.id).where(_where_due(now)).limit(1))).first() is not None
    return has_due and bool(await _choose_ids(tx, now, 1))


async def find_oldest_due(tx: Tx, now: datetime) -> datetime | None:
    since: datetime | None = await tx.scalar(select(func.min(_domain.check_at)).where(_where_due(now)))
    return since


async def claim(tx: Tx, *, clock: Clock, limit: int) -> list[DomainCheckClaim]:
    await take_advisory_lock(tx, _LOCK)  # otherwise two processes could exceed an account's share
    now = clock()
    ids = await _choose_ids(tx, now, limit)
    lock_query = select(_domain.id).where(_domain.id.in_(ids), _where_due(now)).with_for_update(skip_locked=True)
    ids = (await tx.execute(lock_query)).scalars().all()
    statement = update(domains).where(_domain.id.in_(ids)).values(leased_until=now + LEASE)
    rows = await tx.execute(
        statement.returning(
            _domain.id, _domain.hostname, _domain.token, _domain.needs_txt, _domain.check_at, _domain.leased_until
        )
    )
    return [DomainCheckClaim(*row) for row in rows]


async def find_leased(tx: Tx, claimed: DomainCheckClaim) -> tuple[Domain, bool] | None:
    """Lock and return (domain, whether its check was requested again). None if it is deleted or the lease is lost."""
    query = DOMAIN.add_columns(_domain.check_at).where(
        _domain.id == claimed.id, _domain.leased_until == claimed.leased_until
    )
    row = (await tx.execute(query.with_for_update())).one_or_none()
    return None if row is None else (Domain(*row[:-1]), row[-1] != claimed.check_at)


async def mark_notified(tx: Tx, domain_id: UUID, now: datetime) -> bool:
    """Record that the owner gets an email now. Return False if they got one within the last day."""
    condition = or_(_domain.notified_at.is_(None), _domain.notified_at <= now - timedelta(days=1))
    return (
        await tx.execute(update(domains).where(_domain.id == domain_id, condition).values(notified_at=now))
    ).rowcount > 0


def select_expired(now: datetime) -> Select[Any]:
    """Query: the domain that was unverified for the longest time, and for too long, unless a check is in flight."""
    condition = and_(_domain.unverified_since <= now - MAX_UNVERIFIED, ~_domain.is_served, _where_not_leased(now))
    return DOMAIN.where(condition).order_by(_domain.unverified_since).limit(1)


async def _choose_ids(tx: Tx, now: datetime, limit: int) -> Sequence[UUID]:
    # counted here: to group them, SQLite would scan all domains
    busy = Counter(await tx.scalars(select(_domain.account_id).where(_domain.leased_until > now)))
    chosen: list[UUID] = []
    for status_condition in (_domain.status == "verifying", _domain.status != "verifying"):
        full = [account for account, count in busy.items() if count >= MAX_IN_FLIGHT_PER_ACCOUNT]
        query = select(_domain.id, _domain.account_id).where(
            _where_due(now), status_condition, _domain.account_id.not_in(full)
        )
        for row in await tx.execute(query.order_by(_domain.check_at, _domain.id).limit(_MAX_CANDIDATES)):
            if len(chosen) < limit and busy[row.account_id] < MAX_IN_FLIGHT_PER_ACCOUNT:
                busy[row.account_id] += 1
                chosen.append(row.id)
        if len(chosen) == limit:
            break
    return chosen


def _where_due(now: datetime) -> ColumnElement[bool]:
    return and_(_domain.check_at <= now, _where_not_leased(now))


def _where_not_leased(now: datetime) -> ColumnElement[bool]:
    return or_(_domain.leased_until.is_(None), _domain.leased_until <= now)
