"""The queue of domain checks. A check is claimed under a lease, and only the holder of the lease may settle it.

Requested checks go first. No account has more than its share in flight, so that a thousand broken domains of one
account delay nobody else.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, or_, select, update

from waypost.database import Tx, take_advisory_lock
from waypost.kit.clock import Clock
from waypost.resources.domains.history import KEPT
from waypost.resources.domains.model import Domain, domains
from waypost.resources.domains.store import DOMAIN

LEASE = timedelta(seconds=60)
PER_ACCOUNT = 2
_D = domains.c
_LOCK = 0x646F6D61696E  # "domain"
_CANDIDATES = 200


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
    """Whether a claim would return anything. Takes no write lock, since mostly there is nothing to do."""
    is_any = (await tx.execute(select(_D.id).where(_is_waiting(now)).limit(1))).first() is not None
    return is_any and bool(await _chosen(tx, now, 1))


async def claim(tx: Tx, *, clock: Clock, limit: int) -> list[DomainCheckClaim]:
    await take_advisory_lock(tx, _LOCK)  # or two processes could fill the same account's share
    now = clock()
    ids = await _chosen(tx, now, limit)
    free = select(_D.id).where(_D.id.in_(ids), _is_waiting(now)).with_for_update(skip_locked=True)
    ids = (await tx.execute(free)).scalars().all()
    leased = update(domains).where(_D.id.in_(ids)).values(leased_until=now + LEASE)
    rows = await tx.execute(leased.returning(_D.id, _D.hostname, _D.token, _D.needs_txt, _D.check_at, _D.leased_until))
    return [DomainCheckClaim(*row) for row in rows]


async def find_held(tx: Tx, claimed: DomainCheckClaim) -> tuple[Domain, bool] | None:
    """Lock it: (domain, whether its check was requested again). None when it is deleted or the lease is lost."""
    held = DOMAIN.add_columns(_D.check_at).where(_D.id == claimed.id, _D.leased_until == claimed.leased_until)
    row = (await tx.execute(held.with_for_update())).one_or_none()
    return None if row is None else (Domain(*row[:-1]), row[-1] != claimed.check_at)


async def mark_notified(tx: Tx, domain_id: UUID, now: datetime) -> bool:
    """Record that the owner gets mail now. False when they got one within the last day."""
    is_due = or_(_D.notified_at.is_(None), _D.notified_at <= now - timedelta(days=1))
    return (await tx.execute(update(domains).where(_D.id == domain_id, is_due).values(notified_at=now))).rowcount > 0


def expired(now: datetime) -> Select[Any]:
    """The domain that has been unverified for longest, and for too long, unless somebody is checking it."""
    due = and_(_D.unverified_since <= now - KEPT, ~_D.is_live, _is_free(now))
    return DOMAIN.where(due).order_by(_D.unverified_since).limit(1)


async def _chosen(tx: Tx, now: datetime, limit: int) -> Sequence[UUID]:
    # counted here: to group them, SQLite would walk through all domains, in the order of accounts
    busy = Counter(await tx.scalars(select(_D.account_id).where(_D.leased_until > now)))
    chosen: list[UUID] = []
    for of_kind in (_D.status == "verifying", _D.status != "verifying"):
        full = [account for account, count in busy.items() if count >= PER_ACCOUNT]
        waiting = select(_D.id, _D.account_id).where(_is_waiting(now), of_kind, _D.account_id.not_in(full))
        for row in await tx.execute(waiting.order_by(_D.check_at, _D.id).limit(_CANDIDATES)):
            if len(chosen) < limit and busy[row.account_id] < PER_ACCOUNT:
                busy[row.account_id] += 1
                chosen.append(row.id)
        if len(chosen) == limit:
            break
    return chosen


def _is_waiting(now: datetime) -> ColumnElement[bool]:
    return and_(_D.check_at <= now, _is_free(now))


def _is_free(now: datetime) -> ColumnElement[bool]:
    return or_(_D.leased_until.is_(None), _D.leased_until <= now)
