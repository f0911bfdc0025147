"""SQL of the health of links. Other packages use some of it inside their transactions."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, delete, func, select, update

from waypost.accounts import suspension
from waypost.database import Id, Instant, Tx, batches_of, bulk, rows_with
from waypost.resources.links.health.model import HealthStatus, LinkHealth, link_health
from waypost.resources.links.model import COLUMNS, NOT_DELETED, Link, links

_FIELDS = tuple(LinkHealth.__dataclass_fields__)
_COLUMNS = tuple(link_health.c[name] for name in _FIELDS)
_OLDEST = 20_000
"""Due links among which accounts take turns. Sorting all of a million would take seconds."""
_STATE = {
    name: bindparam(f"new_{name}", type_=link_health.c[name].type)
    for name in _FIELDS
    if name not in {"link_id", "account_id"}
}
_IS_READ = (link_health.c.link_id == bindparam("id", type_=Id)) & (
    link_health.c.due_at == bindparam("due", type_=Instant)
)


class Seen(NamedTuple):
    """A link, and whether it has a row."""

    id: UUID
    account_id: UUID
    destination_url: str
    has_row: bool


async def find(tx: Tx, link_id: UUID) -> LinkHealth | None:
    return (await find_of_links(tx, [link_id])).get(link_id)


async def find_of_links(tx: Tx, ids: Collection[UUID]) -> dict[UUID, LinkHealth]:
    rows = await rows_with(tx, select(*_COLUMNS), link_health.c.link_id, ids)
    return {row.link_id: LinkHealth(*row) for row in rows}


async def find_broken(tx: Tx, account_id: UUID, limit: int) -> list[tuple[Link, LinkHealth]]:
    """Return the first broken links."""
    query = select(*_COLUMNS, *COLUMNS).join(links, links.c.id == link_health.c.link_id)
    query = query.where(link_health.c.account_id == account_id, link_health.c.status == "broken", NOT_DELETED)
    rows = await tx.execute(query.order_by(link_health.c.link_id.desc()).limit(limit))
    return [(Link(*row[len(_FIELDS) :]), LinkHealth(*row[: len(_FIELDS)])) for row in rows]


def has_status(account_id: UUID, status: HealthStatus) -> ColumnElement[bool]:
    """SQL condition: the link has this status."""
    own = select(link_health.c.link_id).where(link_health.c.account_id == account_id)
    if status == "unchecked":
        return ~own.where(link_health.c.link_id == links.c.id, link_health.c.status != status).exists()
    return links.c.id.in_(own.where(link_health.c.status == status))


async def list_after(tx: Tx, link_id: UUID, limit: int) -> list[Seen]:
    """Return the next links in the order of their ids."""
    page = select(links.c.id, links.c.account_id, links.c.destination_url)
    page = page.where(links.c.id > link_id, NOT_DELETED).order_by(links.c.id).limit(limit)
    link = page.subquery()
    query = select(*link.c, link_health.c.link_id.is_not(None)).outerjoin(
        link_health, link_health.c.link_id == link.c.id
    )
    return [Seen(row[0], row[1], row[2], bool(row[3])) for row in await tx.execute(query.order_by(link.c.id))]


async def add(tx: Tx, new: Iterable[LinkHealth]) -> None:
    """Add those that have no row yet."""
    rows = [bulk.to_row(link_health, asdict(health)) for health in new]
    await bulk.insert(tx, link_health, rows, on_conflict="ON CONFLICT (link_id) DO NOTHING")


async def reset(tx: Tx, ids: Collection[UUID], now: datetime) -> None:
    """Forget what is known of links that lead elsewhere now, and have them visited soon."""
    values = dict.fromkeys(("checked_at", "http_status", "reason", "since", "held"))
    unchecked = update(link_health).values(status="unchecked", due_at=now, failures=0, gone_days=0, **values)
    for batch in batches_of(sorted(ids)):
        await tx.execute(unchecked.where(link_health.c.link_id.in_(batch)))


async def make_due(tx: Tx, now: datetime) -> None:
    await tx.execute(update(link_health).where(link_health.c.due_at > now).values(due_at=now))


async def find_next_due(tx: Tx) -> datetime | None:
    at: datetime | None = await tx.scalar(select(func.min(link_health.c.due_at)))
    return at


async def find_due(tx: Tx, now: datetime, limit: int) -> list[LinkHealth]:
    """Return links that are due, of those that wait longest: in turns one of each account."""
    order = (link_health.c[name] for name in ("due_at", "account_id", "link_id"))
    oldest = select(*_COLUMNS).where(link_health.c.due_at <= now).order_by(*order).limit(_OLDEST).subquery()
    turn = func.row_number().over(partition_by=oldest.c.account_id, order_by=oldest.c.due_at)
    due = select(*(oldest.c[name] for name in _FIELDS), turn.label("turn")).subquery()
    query = select(*(due.c[name] for name in _FIELDS)).order_by(due.c.turn, due.c.due_at).limit(limit)
    return [LinkHealth(*row) for row in await tx.execute(query)]


async def count_by_status(tx: Tx) -> dict[str, int]:
    rows = await tx.execute(select(link_health.c.status, func.count().label("links")).group_by(link_health.c.status))
    return {row.status: row.links for row in rows}


async def find_suspended(tx: Tx, ids: Collection[UUID]) -> set[UUID]:
    """Return the links whose account is suspended."""
    return set(
        await tx.scalars(select(links.c.id).where(links.c.id.in_(ids), suspension.is_suspended(links.c.account_id)))
    )


async def find_held(tx: Tx, limit: int) -> list[LinkHealth]:
    rows = await tx.execute(select(*_COLUMNS).where(link_health.c.held.is_not(None)).limit(limit))
    return [LinkHealth(*row) for row in rows]


async def save(tx: Tx, changes: Sequence[tuple[LinkHealth, LinkHealth]]) -> None:
    """Save each health after, unless the link was changed since the one before was read."""
    rows = [
        {"id": before.link_id, "due": before.due_at, **{f"new_{name}": getattr(after, name) for name in _STATE}}
        for before, after in sorted(changes, key=lambda change: change[0].link_id)  # as `reset` locks them
    ]
    if rows:
        await tx.execute(update(link_health).where(_IS_READ).values(_STATE), rows)


async def delete_of_links(tx: Tx, ids: Collection[UUID]) -> None:
    for batch in batches_of(ids):
        await tx.execute(delete(link_health).where(link_health.c.link_id.in_(batch)))
