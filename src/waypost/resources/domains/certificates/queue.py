"""Whose turn it is to be ordered a certificate, and how many an account gets: nobody's names hold up all others.

The service's own names come first, then certificates about to end, then names that never failed, then those that did;
of each the one that waits longest. Of an account only a few are under way, and new ones are counted.
"""

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
class Claimed:
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


async def choose(tx: Tx, now: datetime, room: int) -> Mapping[UUID, UUID | None]:
    """Rows to claim, each with the account that its order counts for. Reads all that is due: no writer waits for it."""
    has_one = and_(_C.chain.is_not(None), _C.expires_at > now)
    counts = case((or_(_C.is_own, has_one), None), else_=_D.account_id)
    ends_soon = and_(has_one, _C.expires_at <= now + SOON)
    rank = case((_C.is_own, 0), (ends_soon, 1), (_C.failures == 0, 2), else_=3)
    order = (rank, _C.due_at, _C.id)
    turn = func.row_number().over(partition_by=_D.account_id, order_by=order)
    busy = _under_way(now).subquery()
    due = (
        select(_C.id, _C.is_own, _C.due_at, rank.label("rank"), counts.label("counts"))
        .add_columns((turn + func.coalesce(busy.c.count, 0)).label("turn"))
        .outerjoin(domains, and_(_D.hostname == _C.hostname, _D.is_live))
        .outerjoin(busy, busy.c.account_id == _D.account_id)
        .where(*_is_due(now), or_(_C.is_own, _D.id.is_not(None)))
        .where(or_(_C.is_own, has_one, and_(*(_D.account_id.not_in(spent) for spent in _spent(now)))))
        .subquery()
    )
    mine = select(due.c.id, due.c.counts).where(or_(due.c.is_own, due.c.turn <= AT_ONCE))
    rows = await tx.execute(mine.order_by(due.c.rank, due.c.due_at, due.c.id).limit(room))
    return {row.id: row.counts for row in rows}


async def claim(tx: Tx, chosen: Mapping[UUID, UUID | None], *, now: datetime, lease: timedelta) -> list[Claimed]:
    """What of it nobody else has claimed or taken back since."""
    until = now + lease
    found = select(_C.id, _C.hostname, _C.failures, _C.expires_at).where(_C.id.in_(chosen), *_is_due(now))
    rows = (await tx.execute(found.with_for_update(skip_locked=True))).all()
    await tx.execute(update(certificates).where(_C.id.in_([row.id for row in rows])).values(leased_until=until))
    return [Claimed(row.id, row.hostname, row.failures, row.expires_at, until, chosen[row.id]) for row in rows]


async def ordering(tx: Tx, claimed: Claimed, now: datetime, try_at: datetime) -> bool:
    """To be called before the order: one that nobody hears the end of has failed. False: place none, it is not ours."""
    begun = {"failures": min(claimed.failures + 1, MOST_FAILURES), "due_at": try_at, "try_at": try_at}
    if (await tx.execute(update(certificates).where(mine([claimed])).values(begun))).rowcount == 0:
        return False
    if claimed.account_id:
        await tx.execute(insert(acme_orders).values(id=new_id(), account_id=claimed.account_id, ordered_at=now))
    return True


async def release(tx: Tx, claimed: Collection[Claimed]) -> None:
    """Attempts that were cut off are anybody's again: at once where nothing had been ordered."""
    await tx.execute(update(certificates).where(mine(claimed)).values(leased_until=None))


def mine(claimed: Collection[Claimed]) -> ColumnElement[bool]:
    return or_(*(and_(_C.id == each.id, _C.leased_until == each.leased_until) for each in claimed))


def _is_due(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return _C.due_at <= now, or_(_C.leased_until.is_(None), _C.leased_until <= now)


def _under_way(now: datetime) -> Select[UUID, int]:
    counted = select(_D.account_id, func.count().label("count")).join(certificates, _C.hostname == _D.hostname)
    return counted.where(_C.leased_until > now).group_by(_D.account_id)


def _spent(now: datetime) -> list[Select[UUID]]:
    """Accounts that get no new ones for now."""
    return [
        select(_O.account_id).where(_O.ordered_at > now - time).group_by(_O.account_id).having(func.count() >= most)
        for time, most in BUDGET.items()
    ]
