"""SQL of missed addresses."""

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, select

from waypost.database import Tx, take_advisory_lock, upsert
from waypost.kit.clock import EPOCH
from waypost.kit.pagination import PageRequest
from waypost.resources.domains.missed.model import DAYS_SHOWN, MAX_PATHS, MissedAddress, missed_addresses
from waypost.resources.domains.model import domains

_LOCK = "missed"
_c = missed_addresses.c


async def find_domains(tx: Tx, hostnames: Collection[str]) -> Mapping[str, UUID]:
    """Return the ids of those that have links."""
    query = select(domains.c.hostname, domains.c.id).where(domains.c.hostname.in_(hostnames), domains.c.is_served)
    return {row.hostname: row.id for row in await tx.execute(query)}


async def add(tx: Tx, domain_id: UUID, visits: Mapping[str, int], now: datetime) -> None:
    """Add visits of paths. On a day with MAX_PATHS paths, one with more visits replaces one that was tried once."""
    await take_advisory_lock(tx, _LOCK)
    of_day = _c.domain_id == domain_id, _c.day == _day(now)
    known = set(await tx.scalars(select(_c.path).where(*of_day, _c.path.in_(visits))))
    count = await tx.scalar(select(func.count()).select_from(missed_addresses).where(*of_day)) or 0
    ranked = sorted(visits.keys() - known, key=lambda path: (-visits[path], path))
    free = max(0, MAX_PATHS - count)
    if more := [path for path in ranked[free:] if visits[path] > 1]:
        once = select(_c.path).where(*of_day, _c.visits == 1, _c.path.not_in(known)).order_by(_c.last_at, _c.path)
        replaced = (await tx.scalars(once.limit(len(more)))).all()
        await tx.execute(delete(missed_addresses).where(*of_day, _c.path.in_(replaced)))
        free += len(replaced)
    new = ranked[:free]
    rows = [
        {
            "domain_id": domain_id,
            "day": _day(now),
            "path": path,
            "visits": visits[path],
            "first_at": now,
            "last_at": now,
        }
        for path in (*known, *new)
    ]
    if not rows:
        return
    statement = upsert(tx, missed_addresses)
    statement = statement.on_conflict_do_update(
        index_elements=[_c.domain_id, _c.day, _c.path],
        set_={"visits": _c.visits + statement.excluded.visits, "last_at": statement.excluded.last_at},
    )
    await tx.execute(statement, rows)


async def list_page(tx: Tx, domain_id: UUID, now: datetime, request: PageRequest) -> tuple[list[MissedAddress], int]:
    """Return the page of the last DAYS_SHOWN days, most visits first, and how many paths there are."""
    shown = _c.domain_id == domain_id, _c.day > _day(now) - DAYS_SHOWN
    visits = func.sum(_c.visits)
    query = select(_c.path, visits, func.min(_c.first_at), func.max(_c.last_at)).where(*shown).group_by(_c.path)
    query = query.order_by(visits.desc(), _c.path).limit(request.per_page).offset(request.offset)
    total = await tx.scalar(select(func.count(_c.path.distinct())).where(*shown))
    return [MissedAddress(path, int(count), first, last) for path, count, first, last in await tx.execute(query)], (
        total or 0
    )


async def delete_old(tx: Tx, now: datetime) -> None:
    await tx.execute(delete(missed_addresses).where(_c.day <= _day(now) - DAYS_SHOWN))


def _day(at: datetime) -> int:
    return (at - EPOCH).days
