"""Every statement on saved views."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, insert, or_, select, update

from waypost.database import Database, Tx, read_in_batches
from waypost.kit.errors import or_not_found
from waypost.resources.saved_views.model import SavedView, saved_views

_c = saved_views.c
_COLUMNS = tuple(_c[name] for name in SavedView.__dataclass_fields__)
_BATCH = 500


async def add(tx: Tx, new: SavedView) -> None:
    await tx.execute(insert(saved_views), {name: getattr(new, name) for name in SavedView.__dataclass_fields__})


async def list_shown(tx: Tx, account_id: UUID, person_id: UUID) -> list[SavedView]:
    """List those of the account and of the person, by name."""
    query = select(*_COLUMNS).where(*_is_shown(account_id, person_id)).order_by(func.lower(_c.name), _c.id)
    return [SavedView(*row) for row in await tx.execute(query)]


async def get(tx: Tx, account_id: UUID, person_id: UUID, id_: UUID) -> SavedView:
    """Raises NotFound, also for a view of another person."""
    query = select(*_COLUMNS).where(_c.id == id_, *_is_shown(account_id, person_id))
    return or_not_found(await tx.find(SavedView, query))


async def rename(tx: Tx, id_: UUID, name: str) -> None:
    await tx.execute(update(saved_views).where(_c.id == id_).values(name=name))


async def remove(tx: Tx, id_: UUID) -> None:
    await tx.execute(delete(saved_views).where(_c.id == id_))


async def read_all(db: Database, account_id: UUID) -> AsyncIterator[Sequence[SavedView]]:
    """Yield the views of the account and of its members, in the order of their ids."""
    async for rows in read_in_batches(db.read, select(*_COLUMNS).where(_c.account_id == account_id), _c.id, _BATCH):
        yield [SavedView(*row) for row in rows]


def _is_shown(account_id: UUID, person_id: UUID) -> tuple[ColumnElement[bool], ...]:
    return _c.account_id == account_id, or_(_c.person_id.is_(None), _c.person_id == person_id)
