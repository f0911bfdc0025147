"""Exports the audit log of one account."""

from collections.abc import AsyncIterator
from uuid import UUID

from waypost.audit import store
from waypost.audit.model import AuditEntry
from waypost.audit.store import AuditFilter
from waypost.context import Context
from waypost.database import Database
from waypost.resources.audit.schemas import EntryJson, to_json

_EXPORT_BATCH = 500


async def read_batches(db: Database, account_id: UUID, filter_: AuditFilter) -> AsyncIterator[list[AuditEntry]]:
    """Yield the entries, newest first. No transaction stays open while a client reads slowly."""
    before, has_more = None, True
    while has_more:
        async with db.read_long() as tx:
            entries, before = await store.list_before(tx, account_id, filter_, before, limit=_EXPORT_BATCH)
        if entries:
            yield entries
        has_more = before is not None


async def read_entries(context: Context, account_id: UUID) -> AsyncIterator[list[EntryJson]]:
    """Yield the entries, newest first."""
    async for entries in read_batches(context.db, account_id, AuditFilter()):
        yield [to_json(entry) for entry in entries]
