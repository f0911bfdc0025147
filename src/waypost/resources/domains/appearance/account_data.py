"""Exports the appearance of an account's domains."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from sqlalchemy import select

from waypost.context import Context
from waypost.resources.domains.appearance.model import domain_appearances
from waypost.resources.domains.appearance.schemas import DomainAppearanceChange
from waypost.resources.domains.model import domains

_COLUMNS = domains.c.hostname, *(domain_appearances.c[name] for name in DomainAppearanceChange.model_fields)


async def read_appearances(context: Context, account_id: UUID) -> AsyncIterator[list[dict[str, Any]]]:
    query = select(*_COLUMNS).join(domain_appearances, domain_appearances.c.domain_id == domains.c.id)
    async with context.db.read() as tx:
        rows = (await tx.execute(query.where(domains.c.account_id == account_id).order_by(domains.c.hostname))).all()
    yield [dict(zip((column.name for column in _COLUMNS), row, strict=True)) for row in rows]
