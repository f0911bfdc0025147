"""Exports the appearance of an account's domains, and imports it."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select

from waypost.context import Context
from waypost.database import Tx
from waypost.kit.errors import NotFound
from waypost.resources.domains import store as domain_store
from waypost.resources.domains.appearance import store
from waypost.resources.domains.appearance.model import DomainAppearance, domain_appearances
from waypost.resources.domains.appearance.schemas import DomainAppearanceChange
from waypost.resources.domains.model import domains

_COLUMNS = domains.c.hostname, *(domain_appearances.c[name] for name in DomainAppearanceChange.model_fields)


async def read_appearances(context: Context, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    query = select(*_COLUMNS).join(domain_appearances, domain_appearances.c.domain_id == domains.c.id)
    async with context.db.read() as tx:
        rows = (await tx.execute(query.where(domains.c.account_id == account_id).order_by(domains.c.hostname))).all()
    yield [dict(zip((column.name for column in _COLUMNS), row, strict=True)) for row in rows]


async def add(tx: Tx, account_id: UUID, domain_id: UUID, appearance: DomainAppearance, now: datetime) -> str | None:
    """Set the appearance of a domain that has none. Return its hostname, to publish, if it changed."""
    try:
        domain = await domain_store.get_for_update(tx, account_id, domain_id)
    except NotFound:  # deleted meanwhile
        return None
    if (await store.find(tx, domain_id)).updated_at is not None:
        return None
    await store.save(tx, domain_id, appearance._replace(updated_at=now))
    return domain.hostname
