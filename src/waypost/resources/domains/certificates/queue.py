"""Whose turn it is to be ordered a certificate, and how many an account gets: nobody's names hold up all others.

The service's own names come first, then certificates about to end, then names that never failed, then those that did;
of each the one that waits longest. Of an account only a few are under way, and new ones are counted.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, case, func, insert, or_, select, update

from waypost.database import Tx
from waypost.kit.ids import new_id
from waypost.resources.domains.certificates.model import acme_orders, certificates
from waypost.resources.domains.model import domains

AT_ONCE = 2
"""Attempts under way for an account."""
BUDGET = {timedelta(hours=1): 20, timedelta(days=1): 50}
"""New orders of an account. Renewals and the service's own names are not counted, nor held up."""
SOON = timedelta(days=10)
MOST_FAILURES = 1_000

_C, _D, _O = certificates.c, domains.c, acme_orders.c


@dataclass(frozen=True, slots=True)
class CertificateClaim:
    """A name with an attempt under way."""

    id: UUID
    hostname: str
    failures: int
    expires_at: datetime | None
    """Of the certificate that it has."""
    leased_until: datetime
    """Whoever settles must still have this lease."""
    account_id: UUID | None
    """For whom the order counts; None where it does not."""


async def choose(tx: Tx, now: datetime, limit: int) -> Mapping[UUID, UUID | None]:
    """Rows to claim, each with the account that its order counts for. Only reads, so that no writer waits for it.

    One by one along the index of what is due: with very many names due, that is cheaper than to sort them all.
    """
    busy = Counter(await tx.scalars(_under_way(now)))
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
    """To be called before the order: one that nobody hears the end of has failed. False: place none, it is not ours."""
    begun = {"failures": min(claimed.failures + 1, MOST_FAILURES), "due_at": try_at, "try_at": try_at}
    if (await tx.execute(update(certificates).where(is_held([claimed])).values(begun))).rowcount == 0:
        return False
    if claimed.account_id:
        await tx.execute(insert(acme_orders).values(id=new_id(), account_id=claimed.account_id, ordered_at=now))
    return True


async def release(tx: Tx, claimed: Collection[CertificateClaim]) -> None:
    """Attempts that were cut off are anybody's again: at once where nothing had been ordered."""
    await tx.execute(update(certificates).where(is_held(claimed)).values(leased_until=None))


def is_held(claimed: Collection[CertificateClaim]) -> ColumnElement[bool]:
    return or_(*(and_(_C.id == each.id, _C.leased_until == each.leased_until) for each in claimed))


def _is_due(now: datetime) -> tuple[ColumnElement[bool], ...]:
    # spelt so that no database looks among all that are free for those that are due
    return _C.due_at <= now, func.coalesce(_C.leased_until, _C.due_at) <= now


def _due(now: datetime) -> Select[UUID, UUID, UUID | None]:
    counts = case((or_(_C.is_own, _has_one(now)), None), else_=_D.account_id)
    found = select(_C.id, _D.account_id, counts.label("counts"))
    found = found.outerjoin_from(certificates, domains, and_(_D.hostname == _C.hostname, _D.is_live))
    return found.where(*_is_due(now)).order_by(_C.due_at, _C.id)


def _ranks(now: datetime) -> list[ColumnElement[bool]]:
    ends_soon = and_(_has_one(now), _C.expires_at <= now + SOON)
    is_in_budget = or_(_has_one(now), and_(*(_D.account_id.not_in(spent) for spent in _spent(now))))
    return [_C.is_own, ends_soon, and_(_C.failures == 0, is_in_budget), is_in_budget]


def _has_one(now: datetime) -> ColumnElement[bool]:
    return and_(_C.expires_at > now, _C.chain.is_not(None))


def _under_way(now: datetime) -> Select[UUID]:
    """An account for each of its names."""
    return select(_D.account_id).where(_D.hostname.in_(select(_C.hostname).where(_C.leased_until > now)))


def _spent(now: datetime) -> list[Select[UUID]]:
    """Accounts that get no new ones for now."""
    return [
        select(_O.account_id).where(_O.ordered_at > now - time).group_by(_O.account_id).having(func.count() >= most)
        for time, most in BUDGET.items()
    ]
